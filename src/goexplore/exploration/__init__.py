"""Exploration: from a chosen cell to what was found, on one process or many, and the loop around it."""

from goexplore.exploration._actions import ActionSource, RandomRepeat
from goexplore.exploration._batch import TaskBatch
from goexplore.exploration._config import BatchSize, ExplorationConfig, few_for
from goexplore.exploration._executor import Executor, KernelFactory, SerialExecutor
from goexplore.exploration._kernel import Fatal, Kernel, PythonKernel, Task
from goexplore.exploration._native_executor import NativeExecutor
from goexplore.exploration._native_kernel import NativeKernel
from goexplore.exploration._processes import ProcessExecutor, StartMethod
from goexplore.exploration._ray import ExecutorWish, RayExecutor
from goexplore.exploration._revision import CellReviser, Revision, RevisionPlan
from goexplore.exploration._search import Callback, Search, Status, StopRule
from goexplore.exploration._start import go_to_start
from goexplore.exploration._tally import SHORT, Tally, Total, total_of
from goexplore.exploration._threads import ThreadExecutor

__all__ = [
    "SHORT",
    "ActionSource",
    "BatchSize",
    "Callback",
    "CellReviser",
    "Executor",
    "ExecutorWish",
    "ExplorationConfig",
    "Fatal",
    "Kernel",
    "KernelFactory",
    "NativeExecutor",
    "NativeKernel",
    "ProcessExecutor",
    "PythonKernel",
    "RandomRepeat",
    "RayExecutor",
    "Revision",
    "RevisionPlan",
    "Search",
    "SerialExecutor",
    "StartMethod",
    "Status",
    "StopRule",
    "Tally",
    "Task",
    "TaskBatch",
    "ThreadExecutor",
    "Total",
    "few_for",
    "go_to_start",
    "total_of",
]

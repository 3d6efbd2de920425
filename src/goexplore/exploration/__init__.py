"""Exploration: from a chosen cell to findings, on one process or many, and the loop around it."""

from goexplore.exploration._actions import ActionSource, RandomRepeat
from goexplore.exploration._executor import Executor, KernelFactory, SerialExecutor
from goexplore.exploration._kernel import Kernel, PythonKernel, Task
from goexplore.exploration._native_kernel import NativeKernel
from goexplore.exploration._processes import ProcessExecutor
from goexplore.exploration._search import Callback, Search, Status, StopRule
from goexplore.exploration._threads import ThreadExecutor
from goexplore.exploration._world import Arrival, World, take_apart

__all__ = [
    "ActionSource",
    "Arrival",
    "Callback",
    "Executor",
    "Kernel",
    "KernelFactory",
    "NativeKernel",
    "ProcessExecutor",
    "PythonKernel",
    "RandomRepeat",
    "Search",
    "SerialExecutor",
    "Status",
    "StopRule",
    "Task",
    "ThreadExecutor",
    "World",
    "take_apart",
]

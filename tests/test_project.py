"""What a project has besides code: one version, workflows that run our own commands, a citation."""

import importlib.metadata
import re
from pathlib import Path

import pytest
import yaml

import goexplore

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYPROJECT = (ROOT / "pyproject.toml").read_text()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
(VERSION,) = re.findall(r'^version = "(.+)"$', PYPROJECT, re.MULTILINE)


def commands(workflow):
    """Return everything that a workflow runs in a shell."""
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


class TestTheVersion:
    def test_is_the_installed_one(self):
        assert goexplore.__version__ == importlib.metadata.version("goexplore")

    def test_of_an_installation_from_here_is_that_of_pyproject(self):
        assert goexplore.__version__ == VERSION, "install it again: pip install -e . -c constraints.txt"

    def test_is_the_newest_of_the_changelog(self):
        headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", CHANGELOG, re.MULTILINE)
        assert headings[0] == ("Unreleased", "")
        assert headings[1][0] == VERSION
        assert all(date for _, date in headings[1:])

    def test_and_its_date_are_those_of_the_citation(self):
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
        assert citation["version"] == VERSION
        assert f"## [{VERSION}] - {citation['date-released']}" in CHANGELOG


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
class TestAWorkflow:
    def test_calls_targets_that_the_makefile_has(self, workflow):
        makefile = (ROOT / "Makefile").read_text()
        for job in yaml.safe_load(workflow.read_text())["jobs"].values():
            several = job.get("strategy", {}).get("matrix", {}).get("target", [])
            said = "\n".join(step.get("run", "") for step in job["steps"])
            targets = re.findall(r"\bmake ([a-z-]+)", said)
            for target in [*targets, *several]:
                assert f"\n{target}:" in makefile
            assert ("make ${{ matrix.target }}" in said) == bool(several)

    def test_may_only_read_unless_a_job_needs_more(self, workflow):
        assert yaml.safe_load(workflow.read_text())["permissions"] == {"contents": "read"}

    def test_names_the_version_of_every_action(self, workflow):
        for job in yaml.safe_load(workflow.read_text())["jobs"].values():
            for action in (step["uses"] for step in job["steps"] if "uses" in step):
                assert re.fullmatch(r"[\w./-]+@(v\d[\w.]*|release/v1)", action)


def test_tests_run_on_every_version_of_python_that_wheels_are_built_for():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert tested == [f"3.{minor}" for minor in re.findall(r'"cp3(\d+)-\*"', PYPROJECT)]
    (oldest,) = re.findall(r'^requires-python = ">=(.+)"$', PYPROJECT, re.MULTILINE)
    assert tested[0] == oldest


def test_pre_commit_runs_the_tools_of_make_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    tools = re.findall(r"\$\(BIN\)/(ruff \w+|mypy)", lint)
    assert [hook["name"] for hook in hooks] == tools

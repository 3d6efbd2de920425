"""How Sphinx makes a site of these pages: `make docs`.

The pages are plain Markdown that reads well in the repository too. A link to a file outside of this folder,
such as a source file, leads to the repository if GOEXPLORE_SOURCE_URL is set to its address, such as
https://github.com/OWNER/NAME/blob/main. Otherwise the site has a copy of the file.
"""

import os
import re
from collections.abc import Iterator
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

import goexplore

HERE = Path(__file__).resolve().parent
FRONT_PAGE = "api/index"
SOURCE_URL = os.environ.get("GOEXPLORE_SOURCE_URL", "").rstrip("/")

project = "goexplore"
author = "The goexplore developers"
project_copyright = "The goexplore developers. Apache-2.0"
version = release = version_of("goexplore")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]

myst_heading_anchors = 4  # the anchors that GitHub gives to headings
copybutton_exclude = ".linenos, .gp, .go"

default_role = "literal"  # docstrings write code in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"goexplore {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sphinx = False
linkcheck_anchors = False  # many pages make theirs with scripts


def link_to_the_repository(app: Sphinx, doctree: nodes.document) -> None:
    """Let links to files outside of this folder lead to the repository instead of to copies."""
    if not SOURCE_URL:
        return
    page = Path(app.env.doc2path(app.env.docname))
    for link in list(doctree.findall(addnodes.download_reference)):
        target = (page.parent / link["reftarget"]).resolve()
        if target.is_relative_to(HERE.parent) and not target.is_relative_to(HERE):
            uri = f"{SOURCE_URL}/{target.relative_to(HERE.parent).as_posix()}"
            link.replace_self(nodes.reference("", "", *link.children, refuri=uri))


def is_described_elsewhere(app: Sphinx, what: str, name: str, obj: object, *_: object) -> bool | None:
    """Leave out of a package's page what the front page of the API describes already."""
    if what == "module" and app.env.docname != FRONT_PAGE and name in goexplore.__all__:
        return True
    return None


def prepare_docstring(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Turn `Args:` into fields, and let a package's page name what the front page describes."""
    lines[:] = arguments_as_fields(lines)
    if what == "module":
        shared = sorted(set(getattr(obj, "__all__", ())) & set(goexplore.__all__))
        if shared:
            links = ", ".join(f":py:obj:`goexplore.{each}`" for each in shared)
            lines.extend(["", f"Described with :doc:`the names of goexplore itself <index>`: {links}.", ""])


def arguments_as_fields(lines: list[str]) -> Iterator[str]:
    """Yield a docstring in which every argument is a field, as Sphinx expects it."""
    inside = False
    for line in lines:
        if line == "Args:":
            inside = True
        elif inside and line and not line.startswith(" "):
            inside = False
            yield from ("", line)
        elif inside:
            yield re.sub(r"^    (\w+): ", r":param \1: ", line)
        else:
            yield line


def setup(app: Sphinx) -> None:
    """Connect what this file defines."""
    app.connect("autodoc-skip-member", is_described_elsewhere)
    app.connect("autodoc-process-docstring", prepare_docstring)
    app.connect("doctree-read", link_to_the_repository, priority=100)  # before downloads are collected

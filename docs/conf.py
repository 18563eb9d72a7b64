"""Configuration of the documentation: Sphinx, Markdown pages, and docstrings."""

from importlib.metadata import version as installed_version

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "Caesura"
author = "The Caesura authors"
project_copyright = author
release = installed_version("caesura")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",  # no page asks another host for anything
]
exclude_patterns = ["pictures"]
suppress_warnings = ["ref.python"]  # short names in docstrings may mean several things

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "dollarmath", "deflist"]

# Diagrams in docstrings are text.  Doctests are recognised, and other code names its language.
highlight_language = "text"

# Names in single backticks are code: docstrings are read in a terminal, too.
default_role = "code"
autodoc_member_order = "groupwise"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Caesura"
html_static_path = ["static"]
html_css_files = ["caesura.css"]
html_copy_source = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def without_blank_ends(app: Sphinx, name: str, source: list[str]) -> None:
    """Remove the blank line that ends a doctest before the fence of its block."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def is_plain_field(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Leave out fields of named tuples, which have no text and are in the signature."""
    return True if str(obj.__doc__).startswith("Alias for field number") else None


def setup(app: Sphinx) -> None:
    """Show tables as plain text: Pygments has no lexer for CSV."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", without_blank_ends)
    app.connect("autodoc-skip-member", is_plain_field)

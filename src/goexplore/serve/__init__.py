"""The explorer: a local page on runs, while they run or afterwards. It only reads.

`Source` is a run as the page sees it. A search's newest checkpoint is a `Table` of columns, which are sent
as arrays; what needs an environment is done by helper processes, and the page goes on whatever they do.
"""

from goexplore.serve._server import Address, serve

__all__ = ["Address", "serve"]

"""What routes about one query share: they enter it before they do anything."""

from typing import Any

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.viewsets import ViewSetMixin

from annotate.loaders import enter_query
from corpus.access import Access, enter, get_query
from corpus.models import Query
from kit.api import Route


class QueryRoutes(ViewSetMixin, Route):
    """Routes about one query: annotators of its domain write it; every member may read it.

    Unless `is_for_readers` is false: then it is for those annotators alone.
    """

    is_for_readers = True
    access: Access
    query: Query

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Fetch and authorise."""
        super().initial(request, *args, **kwargs)
        slug, pk = kwargs["slug"], kwargs["pk"]
        if self.is_for_readers and request.method in SAFE_METHODS:
            self.access = enter(self.person(), slug)
            self.query = get_query(self.access, pk)
        else:
            self.access, self.query = enter_query(self.person(), slug, pk)

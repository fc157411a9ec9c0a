"""Signing in to the API by a token, for one prepared query a request."""

from django.contrib.auth.models import User
from rest_framework import authentication
from rest_framework.authtoken.models import Token
from rest_framework.exceptions import AuthenticationFailed

from kit.database.prepared import Prepared

_TOKEN = Prepared(lambda key: Token.objects.filter(key=key).select_related("user"))


class TokenAuthentication(authentication.TokenAuthentication):
    """`Authorization: Token <key>`, as Django REST framework has it."""

    def authenticate_credentials(self, key: str) -> tuple[User, Token]:
        """Whose token it is; raises AuthenticationFailed where it is nobody's."""
        token = _TOKEN.first(key=key)
        if token is None:
            raise AuthenticationFailed("Invalid token.")
        if not token.user.is_active:
            raise AuthenticationFailed("User inactive or deleted.")
        return token.user, token

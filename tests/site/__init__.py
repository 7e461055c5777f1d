"""Tests of the site."""  # noqa: A005  (named as the folder it tests)

"""The ledger of URLs is tested in every sort of database."""

from tests.state.conftest import open_at, open_store, pytest_collection_modifyitems, scope, store, url  # noqa: F401

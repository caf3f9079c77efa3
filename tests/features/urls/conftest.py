"""The ledger of URLs is tested in every sort of database."""

from tests.state.test_carry import elsewhere  # noqa: F401  isort: skip
from tests.state.conftest import open_at, open_store, pytest_collection_modifyitems, scope, store, url  # noqa: F401

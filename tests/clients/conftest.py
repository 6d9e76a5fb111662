import pytest

import server


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with server.serve(str(tmp_path_factory.mktemp("serve"))) as at:
        yield at

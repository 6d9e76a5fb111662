# The official clients, and other programs, against infer-serve: tests/clients, run by pytest.  Python with the packages is that of
# CLIENTS, or of build/clients (scripts/deps clients makes it), or the system's; without them the cases are left out, or fail where
# NEED_CLIENTS=1.
load lib

setup_more()
{
	local python

	unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
	for python in "${CLIENTS:-}" "$TOP/build/clients/bin/python" python3; do
		if [ -n "$python" ] && "$python" -c 'import pytest' 2>/dev/null; then
			export PYTHON=$python
			return
		fi
	done
}

# client MODULE: its file of tests, if the module is there
client()
{
	local file=${2:-test_$1.py}

	if [ -z "${PYTHON:-}" ] || ! "$PYTHON" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$1'))"; then
		[ "${NEED_CLIENTS:-0}" != 1 ] || { echo "NEED_CLIENTS=1, and no Python with pytest and $1"; return 1; }
		skip "needs the Python package $1"
	fi
	SERVE=$B/infer-serve PYTHONDONTWRITEBYTECODE=1 OPENAI_LOG='' "$PYTHON" -m pytest -q -p no:cacheprovider "$TOP/tests/clients/$file"
}

@test "openai" { client openai; }
@test "anthropic" { client anthropic; }
@test "LangChain, and with LONG=1 litellm and llm" { client langchain_openai test_others.py; }

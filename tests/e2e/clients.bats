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

# client MODULES [FILE]: a file of tests, if the modules are there
client()
{
	local file=${2:-test_$1.py}

	if [ -z "${PYTHON:-}" ] || ! "$PYTHON" -c "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, '$1'.split())))"; then
		[ "${NEED_CLIENTS:-0}" != 1 ] || { echo "NEED_CLIENTS=1, and no Python with pytest and $1"; return 1; }
		skip "needs the Python packages $1"
	fi
	SERVE=$B/infer-serve PYTHONDONTWRITEBYTECODE=1 OPENAI_LOG='' "$PYTHON" -m pytest -q -p no:cacheprovider "$TOP/tests/clients/$file"
}

@test "openai" { client openai; }
@test "anthropic" { client anthropic; }
@test "answers and stream events are valid under the published schemas" { client "openai anthropic" test_schemas.py; }
@test "instructor, outlines, pydantic-ai, llm --schema and Ollama's client" { client "instructor outlines pydantic_ai llm ollama" test_structured.py; }
@test "LangChain, and with LONG=1 litellm and llm" { client langchain_openai test_others.py; }

@test "the page, in Chromium: send, stream, stop, regenerate, edit, reload, Markdown; no request to another host" {
	local python='' at

	for at in "${PYTHON:-}" python3 /usr/bin/python3; do
		[ -z "$python" ] && [ -n "$at" ] && "$at" -c 'import selenium' 2>/dev/null && python=$at
	done
	command -v chromium >/dev/null && command -v chromedriver >/dev/null && [ -n "$python" ] ||
		skip "needs chromium, chromedriver and the Python package selenium"
	infer-serve -m demo -t 2 --listen 127.0.0.1:0 >up 2>said 3>&- &
	for _ in $(seq 1200); do [ ! -s up ] || break; sleep 0.1; done
	rc=0
	"$python" "$TOP/tests/clients/page.py" "$(cat up)/" || rc=$?
	kill "$!"
	wait "$!"
	[ "$rc" = 0 ]
}

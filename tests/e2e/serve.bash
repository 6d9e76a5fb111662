# shellcheck shell=bash
# What the cases of infer-serve share, behind lib.bash: servers over sockets in the file system.
export H=$TOP/tests/tools/http.pl

# until the file has a line, at most 20 s
up()
{
	for _ in $(seq 200); do
		[ -s "$1" ] && return
		sleep 0.1
	done
	echo "no server: $(cat said 2>/dev/null)"
	return 1
}
# serve OPTION...: a server of the case's own, at the socket ./own, ended with the case
serve()
{
	rm -f up
	env --default-signal=INT,TERM,PIPE infer-serve -t 2 --listen unix:own "$@" >up 2>said 3>&- &
	PID=$!
	up up
}
teardown()
{
	[ -z "${PID:-}" ] || { kill -KILL "$PID" && wait "$PID"; } 2>/dev/null || :
}
# what differs from run to run of infer-run: times, and what an earlier request left in the cache
still() { sed -E 's/"created":[0-9]+/T/; s/"timings":\{[^}]*\}/T/; s/"cached_tokens":[0-9]+/T/' "$1"; }
own() { perl "$H" own "$@"; }
status() { head -n 1 head; }
# refused PATH: each line of standard input is a param (-: null), a space and a body, refused for that param by the server at $SOCK
refused()
{
	cat >wanted
	cut -d' ' -f2- wanted | perl "$H" "$SOCK" many 1 "$1" >out
	cut -d' ' -f1 wanted | sed 's/^-$/null/' >params
	json error.param <out | diff params - || { paste wanted out; return 1; }
	same invalid_request_error "$(json error.type <out | sort -u)"
}

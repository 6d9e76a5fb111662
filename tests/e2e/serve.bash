# shellcheck shell=bash
# What the cases of infer-serve share, behind lib.bash: servers over sockets in the file system.
export H=$TOP/tests/tools/http.pl

# until the file has a line, at most 2 minutes
up()
{
	for _ in $(seq 1200); do
		[ -s "$1" ] && return
		sleep 0.1
	done
	echo "no server: $(cat said 2>/dev/null)"
	return 1
}
# hermes_server OPTION...: a server of the file's own at $SOCK, with the demo model and a template that writes calls as Hermes does
hermes_server()
{
	export SOCK=$BATS_FILE_TMPDIR/s
	cat >template <<'E'
{%- if tools %}<|im_start|>system
{% for t in tools %}{{ t.function | tojson }}{% endfor %}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": {{ c.function.name | tojson }}, "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}
E
	infer-serve -m demo -t 2 --seed 11 --listen "unix:$SOCK" --template template "$@" >listening 2>said 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	up listening
}
# serve OPTION...: a server of the case's own, at the socket ./own, ended with the case
serve()
{
	rm -f up
	env --default-signal=INT,TERM,PIPE infer-serve -t 2 --listen unix:own "$@" >up 2>said 3>&- &
	PID=$!
	up up
}
# end the server of the case; its socket is free then
end_server() { { kill -KILL "$PID" && wait "$PID"; } 2>/dev/null || :; }
teardown() { [ -z "${PID:-}" ] || end_server; }
# what differs from run to run of infer-run: times, and what an earlier request left in the cache
still() { sed -E 's/"created":[0-9]+/T/; s/"timings":\{[^}]*\}/T/; s/"cached_tokens":[0-9]+/T/' "$1"; }
own() { perl "$H" own "$@"; }
# gauge NAME [LABEL]: the value of a metric of the server at ./own, of a family with labels the one whose last label has the value LABEL
gauge() { own ask GET /metrics '' 'X-Api-Key: mine' | sed -n "s/^infer_$1{[^}]*${2:+\"$2\"}} //p"; }
# until_same TEXT COMMAND...: until the command prints TEXT, for 2 minutes at most
until_same()
{
	local wanted=$1 got=''

	shift
	for _ in $(seq 2400); do
		got=$("$@") && [ "$got" != "$wanted" ] || break
		sleep 0.05
	done
	same "$wanted" "$got"
}
# until_has N PID: until the server at ./own has N requests, running or waiting; it fails if PID, the client, ends before
until_has()
{
	while [ $(($(gauge num_requests_running) + $(gauge num_requests_waiting))) -lt "$1" ]; do
		kill -0 "$2" 2>/dev/null || return 1
	done
}
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

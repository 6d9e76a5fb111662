# infer-serve under load: clients who go away, users who share, a queue that is full
load lib

setup_more()
{
	export H=$TOP/tests/tools/http.pl
	mkmodel --ctx 100000 --layers 8 --embd 256 slow.gguf
	export SLOW=$BATS_FILE_TMPDIR/slow.gguf
}
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
own() { perl "$H" own "$@"; }
gauge() { own ask GET /metrics '' 'X-Api-Key: mine' | sed -n "s/^infer_$1{[^}]*} //p"; }
# until the server has that many requests, at most 10 s
until_has()
{
	for _ in $(seq 200); do
		[ $(($(gauge num_requests_running) + $(gauge num_requests_waiting))) -ge "$1" ] && return
		sleep 0.05
	done
	return 1
}

@test "clients who go away at any moment: the others get their answers, and nothing stays behind" {
	serve -m "$M" --no-prefix-cache
	perl "$TOP/tests/tools/hurt.pl" own "$([ "${LONG:-0}" = 1 ] && echo 10000 || echo 150)" 1 >out
	grep -q ' went, ' out
	kill -TERM $PID
	rc=0
	wait $PID || rc=$?
	same 0 "$rc"
	[ ! -s said ]
}

@test "the same where the cache is too small for all: they are preempted, and computed again" {
	serve -m "$M" --kv-bytes 300K -c 512
	perl "$TOP/tests/tools/hurt.pl" own 150 2 >out
	grep -q ' went, ' out
	same 0 "$(gauge num_requests_running)"
	[ "$(gauge num_preemptions_total)" -gt 0 ]
}

@test "a user who fills the queue shuts out nobody, and who comes late is served first" {
	printf 'theirs\nmine weight=2 priority=0\n' >keys
	serve -m "$SLOW" --api-key-file keys --max-queue 20
	for _ in $(seq 60); do
		echo '{"prompt":"the of","max_tokens":40,"ignore_eos":true}'
	done >bodies
	perl "$H" own many 60 /v1/completions 'Authorization: Bearer theirs' <bodies >theirs &
	until_has 52
	own ask POST /v1/completions '{"prompt":"the","max_tokens":2,"ignore_eos":true}' 'X-Api-Key: mine' >out
	same 200 "$(head -n 1 head)"
	# theirs wait still: mine did not stand behind them
	[ "$(gauge num_requests_waiting)" -ge 10 ]
	wait $!
	same 52 "$(grep -c '"object":"text_completion"' theirs)"
	same 8 "$(grep -c rate_limit_exceeded theirs)"
	# who was preempted got what the others got
	same 1 "$(json choices.0.finish_reason <theirs | grep -v null | sort -u | wc -l)"
	printf 'a\nb weight=0\n' >bad
	fails 3 'bad: line 2: a key has a space, or neither weight' infer-serve -m "$M" --api-key-file bad
}

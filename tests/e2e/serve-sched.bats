# infer-serve under load: clients who go away, users who share, a queue that is full
load lib
load serve

setup_more()
{
	slow_model slow.gguf --layers 8 --embd 256
	export SLOW=$BATS_FILE_TMPDIR/slow.gguf
	# much to compute for a token, and 256 bytes of cache: copying is the quicker way on any machine
	mkmodel --layers 4 --embd 256 --heads 16 --kv-heads 1 small-cache.gguf
	export SMALL_CACHE=$BATS_FILE_TMPDIR/small-cache.gguf
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
	serve -m "$SMALL_CACHE" --kv-bytes 300K -c 512
	perl "$TOP/tests/tools/hurt.pl" own 150 2 >out
	grep -q ' went, ' out
	same 0 "$(gauge num_requests_running)"
	# four times what fits, in one request, so that all are there at once: the same answers as one by one
	how='"max_tokens":300,"seed":5,"ignore_eos":true'
	for i in $(seq 16); do echo "{\"prompt\":\"the of $i\",$how}"; done >bodies
	echo "{\"prompt\":[$(for i in $(seq 16); do echo "\"the of $i\""; done | paste -sd,)],$how}" >body
	before=$(gauge num_preemptions_total)
	own many 1 /v1/completions <body | jq '.choices[].text' >together
	same 16 "$(wc -l <together)"
	[ "$(gauge num_preemptions_total)" -gt "$before" ]
	own many 1 /v1/completions <bodies | jq '.choices[0].text' | cmp - together
	end_server
	# those that gave way went on, each in one of two ways; copies that other work of the machine made slow are not taken back at first
	serve -m "$SMALL_CACHE" --kv-bytes 300K -c 512 --swap-bytes 1M
	for _ in $(seq 50); do
		own many 1 /v1/completions <body | jq '.choices[].text' | cmp - together
		own ask GET /metrics >metrics
		! grep -q 'resumed_total{.*"copied"} [1-9]' metrics || break
	done
	value() { sed -n "s/^infer_$1[{,].*} //p" metrics | awk '{ n += $1 } END { print n }'; }
	same "$(value num_preemptions_total)" "$(value preemptions_resumed_total)"
	grep -q 'resumed_total{.*"copied"} [1-9]' metrics
	# a copy is dropped where computing has become the quicker way
	[ "$(value swap_out_bytes_total)" -ge "$(value swap_in_bytes_total)" ]
	[ "$(value swap_in_bytes_total)" -gt 0 ]
	same 0 "$(value swap_used_bytes)"
	! command -v promtool >/dev/null || promtool check metrics <metrics
}

@test "a user who fills the queue shuts out nobody, and who comes late is served first" {
	printf 'theirs\nmine weight=2 priority=0 operator\n' >keys
	serve -m "$SLOW" --api-key-file keys --max-queue 20
	# with answers so long that none ends before all are asked for
	mine_is_first()
	{
		for _ in $(seq 60); do echo '{"prompt":"the of","max_tokens":'"$1"',"ignore_eos":true}'; done >bodies
		perl "$H" own many 60 /v1/completions 'Authorization: Bearer theirs' <bodies >theirs &
		local theirs=$! waiting=0
		if until_has 52 $theirs; then
			own ask POST /v1/completions '{"prompt":"the","max_tokens":2,"ignore_eos":true}' 'X-Api-Key: mine' >out
			waiting=$(gauge num_requests_waiting)
		fi
		wait $theirs
		# theirs wait still: mine did not stand behind them
		[ "$waiting" -ge 10 ] && [ "$(grep -c rate_limit_exceeded theirs)" = 8 ]
	}
	doubled 20 80000 mine_is_first
	same 200 "$(head -n 1 head)"
	same 52 "$(grep -c '"object":"text_completion"' theirs)"
	# who was preempted got what the others got
	same 1 "$(json choices.0.finish_reason <theirs | grep -v null | sort -u | wc -l)"
	printf 'a\nb weight=0\n' >bad
	fails 3 'bad: line 2: a key must have no space, and only weight' infer-serve -m "$M" --api-key-file bad
}

@test "slots: which are taken, with what, and no text of it; --no-slots; one is demanded" {
	serve -m "$SLOW"
	own ask GET /slots >idle
	same '32 false' "$(json '#' <idle) $(json 7.is_processing <idle)"
	perl "$H" own stream /v1/completions '{"prompt":"the of secret","max_tokens":90000,"n":2,"seed":3,"temperature":0.25,"ignore_eos":true,"stream":true}' >events &
	busy() { own ask GET '/slots?fail_on_no_slot=1' | tee busy | grep -o '"is_processing":true' | wc -l; }
	until_same 2 busy
	same "200 true 0.25 90000" "$(head -n 1 head) $(json 0.is_processing <busy) $(json 0.params.temperature <busy) $(json 0.params.max_tokens <busy)"
	same 2 "$(grep -o '"is_processing":true' busy | wc -l)"
	! grep -q secret busy
	kill $!
	until_same "$(cat idle)" own ask GET /slots
	# 32 samples take all of them
	perl "$H" own stream /v1/completions '{"prompt":"the","max_tokens":90000,"n":40,"ignore_eos":true,"stream":true}' >events &
	demanded() { own ask GET '/slots?fail_on_no_slot=1' >out; status; }
	until_same 503 demanded
	same unavailable_error "$(json error.type <out)"
	kill $!
	end_server
	serve -m "$M" --no-slots
	own ask GET /slots | json error.message | grep -q -e --no-slots
	same 501 "$(head -n 1 head)"
}

@test "the log of requests: the trace, what was asked; texts only where they are wanted" {
	for how in --log-requests --log-requests=content; do
		serve -m "$M" --access-log "log$how" "$how"
		own ask POST /v1/completions '{"prompt":["the of","of the of"],"max_tokens":3,"seed":5,"temperature":0,"ignore_eos":true}' \
			'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' >answer
		own ask GET /health '' 'traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01' >out
		kill -TERM $PID
		wait $PID
	done
	head -n 1 log--log-requests >line
	same '4bf92f3577b34da6a3ce929d0e0e4736 2 3 5 0 6' "$(json trace_id <line) $(json request.n <line) $(json request.max_tokens <line) $(json request.seed <line) $(json request.temperature <line) $(json completion_tokens <line)"
	! grep -q 'the of' log--log-requests
	! grep health log--log-requests | grep -q trace_id
	head -n 1 log--log-requests=content >line
	same "$(json choices.0.text <answer)|$(json choices.1.text <answer)" "$(json request.texts.0 <line)|$(json request.texts.1 <line)"
	json request.body <line | json prompt.1 | grep -qx 'of the of'
	fails 2 "log-requests=all: only 'content'" infer-serve -m "$M" --access-log x --log-requests=all
	fails 2 'needs --access-log' infer-serve -m "$M" --log-requests
}

@test "it ends when nobody asks, at a socket that it was given; the socket stays" {
	cat >give.pl <<-'END'
	use IO::Socket::UNIX; use Fcntl; use POSIX ();
	unlink 'own';
	my $s = IO::Socket::UNIX->new(Local => 'own', Listen => 9) or die;
	POSIX::dup2(fileno $s, 3); fcntl(STDIN, F_GETFD, 0); $^F = 9;
	fcntl($s, F_SETFD, 0);
	$ENV{LISTEN_FDS} = shift; $ENV{LISTEN_PID} = $$;
	exec @ARGV;
	END
	env --default-signal=TERM perl give.pl 1 infer-serve -m "$M" --listen unix:other --idle 5 >up 2>said 3>&- &
	PID=$!
	up up
	same unix:own "$(cat up)"
	own ask POST /v1/completions '{"prompt":"the of","max_tokens":3}' >out
	same 200 "$(head -n 1 head)"
	# as far as this kernel and build let it
	! sandbox --serve >/dev/null 2>&1 || same '1 2' "$(sed -n 's/^NoNewPrivs:\t//p;s/^Seccomp:\t//p' /proc/$PID/status | xargs)"
	rc=0
	wait $PID || rc=$?
	PID=
	same 0 "$rc"
	[ -S own ] && [ ! -e other ]
	fails 2 'LISTEN_FDS is 2' perl give.pl 2 infer-serve -m "$M"
	LISTEN_FDS=1 LISTEN_PID=1 infer-serve -m "$M" --idle 1 --listen unix:mine >up
	same unix:mine "$(cat up)"
}

@test "HTTPS: with a certificate and its key; files that are none are named" {
	command -v openssl >openssl || skip 'no openssl'
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 \
		-subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1' 2>why
	rm -f up
	env --default-signal=TERM infer-serve -q -m "$M" --listen 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --body-timeout 1 >up 2>said 3>&- &
	PID=$!
	up up
	port=$(sed -n 's|^https://127\.0\.0\.1:\([0-9]*\)$|\1|p' up)
	talk() { openssl s_client -quiet -no_ign_eof -verify_return_error -CAfile cert.pem -connect "127.0.0.1:$port" 2>why; }
	{ printf 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 68\r\n\r\n{"prompt":"the of","max_tokens":3,"stream":true,"ignore_eos":true}  '; until_same '[DONE]' sed -n 's/^data: \[/[/p' out; } | talk >out
	grep -q '^HTTP/1.1 200' out
	grep -q '^data: \[DONE\]' out
	# what came too late is not answered in plain text
	{ printf 'POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{'; sleep 2; } | talk >out || :
	! grep -q 408 out
	kill -TERM $PID
	wait $PID
	PID=
	fails 2 'tls-cert and --tls-key go together' infer-serve -m "$M" --listen unix:x --tls-cert cert.pem
	fails 3 'key.pem: must contain a certificate' infer-serve -m "$M" --listen unix:x --tls-cert key.pem --tls-key key.pem
	fails 1 'nokey' infer-serve -m "$M" --listen unix:x --tls-cert cert.pem --tls-key nokey
	openssl ecparam -genkey -name prime256v1 -noout -out other.pem 2>why
	fails 3 'are not a certificate and its key' infer-serve -m "$M" --listen unix:x --tls-cert cert.pem --tls-key other.pem
}

@test "a request's own limit of time: the body's, the head's, in the queue, in a stream; the place is free behind it" {
	serve -m "$SLOW"
	LONG_ONE='"prompt":"the of","max_tokens":90000,"ignore_eos":true'
	own ask POST /v1/completions "{$LONG_ONE,\"timeout\":0.2}" >out
	same '408 timeout_error timeout false' "$(status) $(json error.type <out) $(json error.param <out) $(sed -n 's/^x-should-retry: //Ip' head)"
	same 'the answer took longer than the 0.2 s of the request' "$(json error.message <out)"
	own ask POST /v1/completions "{$LONG_ONE,\"timeout\":100}" 'X-Request-Timeout: 0.1' >out
	same '408 0.1' "$(status) $(json error.message <out | grep -o '0.1')"
	own ask POST /v1/completions "{$LONG_ONE}" 'X-Request-Timeout: soon' >out
	same 400 "$(status)"
	own events /v1/messages '{"messages":[{"role":"user","content":"the"}],"max_tokens":90000,"ignore_eos":true,"timeout":0.3,"stream":true}' >events || :
	grep -q '"type":"timeout_error"' events
	# more than there are places: those that wait have no more time than the others
	for _ in $(seq 40); do echo "{$LONG_ONE,\"timeout\":0.5}"; done >bodies
	own many 40 /v1/completions <bodies >out
	same 40 "$(grep -c '"type":"timeout_error"' out)"
	until_same 0 gauge num_requests_running
	until_same 0 gauge kv_cache_usage_ratio
	same 4 "$(own ask POST /v1/completions '{"prompt":"the of","max_tokens":4,"ignore_eos":true,"timeout":30}' | json usage.completion_tokens)"
	# time under a constraint is counted where there is one
	own ask POST /v1/completions '{"prompt":"the of","max_tokens":4,"regex":"[a-z ]*"}' >out
	same 1 "$(gauge request_constraint_time_seconds_count)"
	same -1 "$(own ask GET /props | json default_generation_settings.params.seed)"
}

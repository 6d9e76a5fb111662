# infer-serve --otlp: a span for each request, as a collector of OpenTelemetry gets it
load lib
load serve

# Python's own http.server is the collector
collect()
{
	python3 -S "$TOP/tests/tools/collector.py" "$@" >port 3>&- &
	echo $! >collector
	up port
}
teardown()
{
	kill -KILL "$(cat collector)" ${PID:+"$PID"} 2>/dev/null || :
}
# the spans, a line each
spans() { perl -MJSON::PP -ne 'my ($p, $t, $b) = @{decode_json($_)}; "$p $t" eq "/v1/traces application/json" or die; for my $s (@{$b->{resourceSpans}[0]{scopeSpans}[0]{spans}}) { print JSON::PP->new->canonical->encode($s), "\n" }' got; }
# got N: wait for so many, and put them into all
got()
{
	for _ in $(seq 2400); do
		[ ! -s got ] || [ "$(spans | wc -l)" -lt "$1" ] || break
		sleep 0.05
	done
	spans >all
}
# attribute NAME: of the spans on standard input
attribute() { perl -MJSON::PP -ne 'BEGIN { $n = shift @ARGV } for my $a (@{decode_json($_)->{attributes}}) { next if $a->{key} ne $n; my ($v) = values %{$a->{value}}; print ref $v ? join(",", map { $_->{stringValue} } @{$v->{values}}) : $v, "\n" }' "$1"; }

@test "what a span says; the trace that a request belongs to; one that is not recorded; the collector may be gone" {
	collect got
	serve -m "$M" --alias m --files-dir kept --otlp "http://127.0.0.1:$(cat port)"
	T=0af7651916cd43dd8448eb211c80319c
	own ask POST /v1/completions '{"prompt":"the of","max_tokens":3,"seed":7,"temperature":0.5,"ignore_eos":true,"n":2}' "traceparent: 00-$T-b7ad6b7169203331-01" >out
	own ask POST /v1/completions '{"prompt":"the","max_tokens":1}' "traceparent: 00-$T-b7ad6b7169203332-00" >out
	own ask POST /v1/chat/completions '{"messages":5}' >out
	own ask GET /health >out
	own stream /v1/chat/completions '{"messages":[{"role":"user","content":"a"}],"max_tokens":2,"stream":true}' >out
	got 3
	same 'text_completion m:chat m:chat m' "$(json name <all | paste -sd:)"
	head -n 1 all >first
	same "$T b7ad6b7169203331 2" "$(json traceId <first) $(json parentSpanId <first) $(json kind <first)"
	json spanId <first | grep -qx '[0-9a-f]\{16\}'
	[ "$(json endTimeUnixNano <first)" -ge "$(json startTimeUnixNano <first)" ]
	[ $(($(date +%s) - $(json endTimeUnixNano <first) / 1000000000)) -lt 60 ]
	for a in 'operation.name text_completion' 'provider.name inferutils' 'request.model m' 'request.max_tokens 3' 'request.seed 7' 'request.temperature 0.5' \
		'request.choice.count 2' 'usage.output_tokens 6' 'response.finish_reasons length,length' 'output.type text'; do
		same "${a#* }" "$(attribute "gen_ai.${a% *}" <first)"
	done
	same "$(pwd | sed 's|.*|own|')" "$(attribute server.address <first)"
	same '400 400' "$(sed -n 2p all | attribute error.type) $(sed -n 2p all | attribute http.response.status_code)"
	same 2 "$(sed -n 3p all | attribute gen_ai.usage.output_tokens)"
	json traceId <all | sed -n 3p | grep -qx '[0-9a-f]\{32\}'
	# a line of a batch has one, too
	echo '{"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"the","max_tokens":2,"seed":9,"ignore_eos":true}}' | own upload batch lines >up
	own ask POST /v1/batches "{\"input_file_id\":\"$(json id <up)\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\"}" >out
	same 200 "$(status)"
	got 4
	same 'text_completion m 9 2 200' "$(json name <all | tail -n 1) $(tail -n 1 all | attribute gen_ai.request.seed) $(tail -n 1 all | attribute gen_ai.usage.output_tokens) $(tail -n 1 all | attribute http.response.status_code)"
	# nobody waits for a collector that is not there, which is said once
	kill -KILL "$(cat collector)"
	for _ in 1 2; do same 200 "$(own ask POST /v1/completions '{"prompt":"the","max_tokens":1}' >out; status)"; done
	own ask POST /v1/completions '{"prompt":"the","max_tokens":1}' >out
	kill -TERM $PID
	rc=0
	wait $PID || rc=$?
	same 0 "$rc"
	same 1 "$(grep -c 'spans are lost' said)"
	fails 2 'otlp ftp://x must be' infer-serve -m "$M" --otlp ftp://x
}

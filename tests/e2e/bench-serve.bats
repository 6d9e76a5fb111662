# infer-bench serve: against a server of ours, over a socket in the file system
load lib
load serve

setup_more()
{
	export SOCK=$BATS_FILE_TMPDIR/s
	infer-serve -m demo -t 2 --listen "unix:$SOCK" >listening 2>said &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	up listening
}
teardown_file() { kill -TERM "$(cat "$BATS_FILE_TMPDIR/pid")"; }
bench() { infer-bench serve --url "unix:$SOCK" --requests 6 --warmup 1 -p 20-30 --output 3-6 "$@"; }
has_libcurl() { infer-bench serve --url http://127.0.0.1:1 2>&1 | grep -q 'there is no libcurl' && skip "needs libcurl (package libcurl4)"; return 0; }

@test "closed loop: lengths as asked, counts as the server's, the same request for the same seed" {
	has_libcurl
	bench --json --record r --clients 2 --pid "$(cat "$BATS_FILE_TMPDIR/pid")" --price 3 >a
	cmp a r
	same 'serve closed 2 6' "$(json bench <a) $(json workload.loop <a) $(json workload.clients <a) $(json workload.requests <a)"
	same '6 0 0 true true' "$(for k in completed failed short usage agree; do json counts.$k <a; done | tr '\n' ' ' | sed 's/ $//')"
	same "$(json counts.completion_tokens <a)" "$(json counts.server_completion_tokens <a)"
	n=$(json counts.completion_tokens <a)
	[ "$n" -ge 18 ] && [ "$n" -le 36 ]
	n=$(json counts.prompt_tokens <a)
	[ "$n" -ge 110 ] && [ "$n" -le 200 ]
	for m in ttft_ms tpot_ms e2e_ms prefill_tok_s decode_tok_s tok_s requests_s peak_memory_bytes cost_per_million_tokens; do
		json metrics.$m.p50.value <a | awk '!($1 > 0) { exit 1 }'
	done
	same 6 "$(json metrics.e2e_ms.values.# <a)"
	bench --json --warmup 0 --seed 1 >b
	same "$(json counts.prompt_tokens <a) $(json counts.completion_tokens <a)" "$(json counts.prompt_tokens <b) $(json counts.completion_tokens <b)"
	bench --json --warmup 0 --seed 2 --api chat >c
	[ "$(json counts.prompt_tokens <a)" != "$(json counts.prompt_tokens <c)" ]
}

@test "an answer that is read in one piece has the rate of the server's timings, or none" {
	has_libcurl
	command -v python3 >/dev/null || skip "no python3"
	# all pieces are there at once; the server says 30 ms for the three tokens after the first
	cat >server.py <<-'END'
		import http.server, json, os, sys
		class H(http.server.BaseHTTPRequestHandler):
		    protocol_version = 'HTTP/1.1'
		    def log_message(self, *a): pass
		    def send(self, kind, body):
		        self.send_response(200)
		        self.send_header('Content-Type', kind)
		        self.send_header('Content-Length', str(len(body)))
		        self.end_headers()
		        self.wfile.write(body)
		    def do_GET(self): self.send('application/json', b'{"data":[{"id":"m"}]}')
		    def do_POST(self):
		        ask = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
		        more = {'timings': {'predicted_ms': 30}} if sys.argv[1] == 'timings' else {}
		        usage = {'usage': {'prompt_tokens': len(ask['prompt'].split()), 'completion_tokens': 4}}
		        if not ask['stream']:
		            return self.send('application/json', json.dumps({'choices': [], **usage, **more}).encode())
		        assert ('timings_per_token' in ask) == bool(more)
		        parts = [{'choices': [{'text': 'a'}]}] * 4 + [{'choices': [], **usage, **more}]
		        self.send('text/event-stream', b''.join(b'data: ' + json.dumps(p).encode() + b'\n\n' for p in parts) + b'data: [DONE]\n\n')
		s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
		print(s.server_port, flush=True)
		s.serve_forever()
	END
	for how in timings none; do
		python3 server.py $how >port.$how 2>&1 3>&- &
		echo $! >>pids
		until [ -s port.$how ]; do :; done
		infer-bench serve --url "http://127.0.0.1:$(cat port.$how)" --requests 3 --warmup 0 --output 4 --json >$how 2>$how.err
	done
	# the shell's own kill: a small system has no other
	# shellcheck disable=SC2046
	kill $(cat pids)
	same '3 0 3' "$(json counts.by_timings <timings) $(json counts.without_rate <timings) $(json metrics.decode_tok_s.n <timings)"
	same '100 10' "$(json metrics.decode_tok_s.max <timings) $(json metrics.tpot_ms.min <timings)"
	same '0 3' "$(json counts.by_timings <none) $(json counts.without_rate <none)"
	! grep -q 'decode_tok_s\|itl_ms' none
	grep -q '3 answers were read in too few pieces to show their rate' none.err
}

@test "-n is --output; both are refused" {
	has_libcurl
	infer-bench serve --url "unix:$SOCK" --requests 2 --warmup 0 -p 20 -n 3 --json >a
	same '6 3' "$(json counts.completion_tokens <a) $(json workload.output <a)"
	fails 2 '--max-tokens does not go with --output' infer-bench serve --url "unix:$SOCK" -n 3 --output 4
	fails 2 "-n: 'x' must be a length" infer-bench serve --url "unix:$SOCK" -n x
}

@test "what accelerators used is asked of their library, where there is one" {
	has_libcurl
	command -v cc >/dev/null || skip "needs a C compiler (package gcc)"
	bench --json >a
	[ -e /dev/nvidia0 ] || same 'null null' "$(json gpu_energy_j <a) $(json gpu_bytes <a)"
	# two devices that take 7 and 8 J from one question to the next, and hold 1 and 2 GB
	cat >nvml.c <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		static int device[2];
		int nvmlInit_v2(void) { return 0; }
		int nvmlShutdown(void) { return 0; }
		int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
		int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = device + i; return 0; }
		int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { m[2] = 1000000000ull * (1 + ((int *)d - device)); return 0; }
		int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *mj)
		{
			int i = (int *)d - device, times = 0;
			char name[16];
			sprintf(name, "asked%d", i);
			FILE *f = fopen(name, "a+");
			while (fgetc(f) >= 0) times++;
			fputc('x', f);
			fclose(f);
			*mj = 100000ull + (7000 + 1000 * i) * times;
			return getenv("NO_ENERGY") ? 3 : 0;
		}
	END
	cc -shared -fPIC -o libnvidia-ml.so.1 nvml.c
	LD_LIBRARY_PATH=$PWD bench --json >a
	same '15 15 3000000000' "$(json gpu_energy_j <a) $(json metrics.gpu_energy_j.p50.value <a) $(json gpu_bytes <a)"
	# older cards do not count it
	NO_ENERGY=1 LD_LIBRARY_PATH=$PWD bench --json >a
	same 'null 3000000000' "$(json gpu_energy_j <a) $(json gpu_bytes <a)"
	cc -shared -fPIC -DnvmlShutdown=other -o libnvidia-ml.so.1 nvml.c
	LD_LIBRARY_PATH=$PWD bench --json >a
	same 'null null' "$(json gpu_energy_j <a) $(json gpu_bytes <a)"
}

@test "with a plan its users ask for what it was asked for, and the rate is a part of its limit" {
	has_libcurl
	printf '%s\n' 'name: host' 'threads: 2' 'memory_bytes: 25000000000' 'memory_gb_s: 40' 'f32_gflop_s: 200' \
		'i8_gop_s: 800' 'decode_part: 0.9' 'prefill_part: 0.7' >hw.yaml
	infer-inspect plan -m demo --hw hw.yaml --users 2 --prompt 20 --output 4 --json >p
	infer-bench serve --url "unix:$SOCK" --requests 4 --warmup 1 --plan p --json >a
	same '2 20 4' "$(json workload.clients <a) $(json workload.prompt <a) $(json workload.output <a)"
	same "$(json asked.all_tok_s <p)" "$(json predicted_tok_s <a)"
	# what was computed, at the rates of the limit
	for k in counts.prompt_tokens counts.cached_tokens counts.completion_tokens wall_s metrics.fraction.p50.value limit_tok_s; do
		json "$k" <a
	done | awk -v p="$(json asked.limit_prefill_tok_s <p)" -v d="$(json asked.limit_all_tok_s <p)" '
		{ v[NR] = $1 }
		END {
			s = (v[1] - v[2]) / p + v[3] / d
			exit !(v[5] / (s / v[4]) > 0.999 && v[5] / (s / v[4]) < 1.001 && v[6] / (v[3] / s) > 0.999 && v[6] / (v[3] / s) < 1.001)
		}'
	fails 2 '--clients does not go with --plan' infer-bench serve --url "unix:$SOCK" --plan p --clients 3
}

@test "open loop: what a request waited for a connection is part of its latency" {
	has_libcurl
	# one connection, and all requests due at once: each waits for those before it
	for i in 0 1 2 3 4; do echo '{"at_ms":'$i',"prompt":"the fox number '$i'","max_tokens":40}'; done >trace
	infer-bench serve --url "unix:$SOCK" --trace trace --clients 1 --json >a
	same 'trace 5 200 1 true' "$(json workload.loop <a) $(json workload.requests <a) $(json counts.completion_tokens <a) $(json most_at_once <a) $(json counts.agree <a )"
	last=$(json metrics.e2e_ms.values.4 <a) wall=$(json wall_s <a)
	awk -v e="$last" -v w="$wall" 'BEGIN { exit !(e > 1000 * w - 10) }'
	awk -v l="$(json metrics.send_lag_ms.max <a)" -v e="$last" 'BEGIN { exit !(l > e / 2) }'
	bench --rate 500 --shared-prefix 16 >table
	grep -q '^6 requests, 0 failed, open loop' table
	grep -q 'counts agree' table
	awk 'length > 80 { wide = 1 } END { exit wide }' table
}

@test "adapters: requests use them in turn, and are counted for each" {
	has_libcurl
	for i in 1 2 3; do mklora -r 4 -s "$i" -n "ad$i" -t attn_q,attn_v "$M" "l$i.gguf"; done
	serve -m "$M" --alias m --lora l1.gguf --lora l2.gguf --lora l3.gguf --lora-init-without-apply
	at() { infer-bench serve --url unix:own --requests 7 --warmup 1 -p 20 --output 4 "$@"; }
	for api in completions chat; do
		at --adapters all --api $api --json >a
		same '["ad1","ad2","ad3"] 3' "$(json workload.adapters <a) $(json adapters.# <a)"
		same 'ad1 ad2 ad3' "$(json adapters.0.name <a) $(json adapters.1.name <a) $(json adapters.2.name <a)"
		same '3 2 2' "$(json adapters.0.completed <a) $(json adapters.1.completed <a) $(json adapters.2.completed <a)"
		same '12 8 8' "$(json adapters.0.completion_tokens <a) $(json adapters.1.completion_tokens <a) $(json adapters.2.completion_tokens <a)"
		same "$(json counts.prompt_tokens <a)" "$(($(json adapters.0.prompt_tokens <a) + $(json adapters.1.prompt_tokens <a) + $(json adapters.2.prompt_tokens <a)))"
		same 'm true 0' "$(json served <a) $(json counts.agree <a) $(json adapters.2.failed <a)"
	done
	at --adapters base,ad2 --json >b
	same '["m","ad2"] 4 3' "$(json workload.adapters <b) $(json adapters.0.completed <b) $(json adapters.1.completed <b)"
	at --adapters ad3 >table
	grep -qx 'models in turn: ad3' table
	at --adapters base --json >c
	! grep -q '"adapters"' c
	# another load is another case
	run -3 infer-bench compare a b
	grep -q 'adapters=\["m","ad2"\]: only in b' <<<"$output"
	fails 2 "the server has no adapter 'ad4'; it has ad1, ad2, ad3" at --adapters ad1,ad4
	fails 2 "the server has no adapter ''" at --adapters ad1,,ad2
	fails 2 "'ad1' is given twice" at --adapters ad1,ad2,ad1
	fails 3 "lists no adapters of 'inferutils-demo'" bench --adapters all
	fails 3 "lists no adapters of 'other'" at --alias other --adapters ad1
	fails 2 '--adapters goes with serve and ab only' infer-bench run --adapters all
}

@test "adapters: each request has its model, also of a server that lists them as vLLM does" {
	has_libcurl
	command -v python3 >/dev/null || skip "no python3"
	cat >server.py <<-'END'
		import http.server, json
		card = {'object': 'model', 'created': 1, 'owned_by': 'vllm', 'permission': []}
		models = [dict(card, id='m', root='/m', parent=None, max_model_len=4096)]
		models += [dict(card, id='adapter-%d' % i, root='/a', parent='m') for i in range(40)]
		models += [dict(card, id='of-another', root='/b', parent='n')]
		class H(http.server.BaseHTTPRequestHandler):
		    protocol_version = 'HTTP/1.1'
		    def log_message(self, *a): pass
		    def send(self, kind, body):
		        self.send_response(200)
		        self.send_header('Content-Type', kind)
		        self.send_header('Content-Length', str(len(body)))
		        self.end_headers()
		        self.wfile.write(body)
		    def do_GET(self): self.send('application/json', json.dumps({'object': 'list', 'data': models}).encode())
		    def do_POST(self):
		        ask = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
		        with open('asked', 'a') as f: f.write('%s %s\n' % (ask['stream'], ask['model']))
		        usage = {'usage': {'prompt_tokens': len(ask['prompt'].split()), 'completion_tokens': 1}}
		        if not ask['stream']:
		            return self.send('application/json', json.dumps({'choices': [], **usage}).encode())
		        parts = [{'choices': [{'text': 'a'}]}, {'choices': [], **usage}]
		        self.send('text/event-stream', b''.join(b'data: ' + json.dumps(p).encode() + b'\n\n' for p in parts) + b'data: [DONE]\n\n')
		s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
		print(s.server_port, flush=True)
		s.serve_forever()
	END
	python3 server.py >port 2>&1 3>&- &
	PID=$!
	until [ -s port ]; do :; done
	at() { infer-bench serve --url "http://127.0.0.1:$(cat port)" --output 1 "$@"; }
	at --requests 4 --warmup 2 --adapters adapter-3,m,adapter-0 --json >a
	# what measures the tokens of words has no adapter
	same "$(printf '%s\n' 'False m' 'False m' 'True adapter-3' 'True m' 'True adapter-3' 'True m' 'True adapter-0' 'True adapter-3')" "$(cat asked)"
	same '2 1 1' "$(json adapters.0.completed <a) $(json adapters.1.completed <a) $(json adapters.2.completed <a)"
	rm asked
	at --requests 40 --warmup 0 --adapters all >table
	same 40 "$(grep -c 'True adapter-' asked)"
	same 40 "$(sort -u asked | grep -c 'True adapter-')"
	grep -Eqx 'models in turn: adapter-0, adapter-1, .*, adapter-[0-9]+ and [0-9]+ more' table
	awk 'length > 80 { wide = 1 } END { exit wide }' table
	fails 2 "has no adapter 'of-another'; it has adapter-0, adapter-1.* \.\.\.\$" at --adapters of-another
}

@test "what fails is counted, what is asked wrongly is refused by name" {
	has_libcurl
	printf '{"at_ms":0,"prompt":"a","max_tokens":2}\n{"at_ms":0,"prompt":"%s","max_tokens":2}\n' "$(yes 'a fox' | head -n 600 | tr '\n' ' ')" >trace
	run -7 --separate-stderr infer-bench serve --url "unix:$SOCK" --trace trace --json
	same '1 1' "$(json counts.completed <<<"$output") $(json counts.failed <<<"$output")"
	grep -q 'request 1 failed: .*context' <<<"$stderr"
	fails 2 'serve needs a server' infer-bench serve
	fails 2 'must be http' infer-bench serve --url ftp://here
	fails 2 'must be a length' bench --output few
	fails 2 'goes with serve only' infer-bench run --url "unix:$SOCK"
	fails 2 '--depth goes with run only' bench --depth 3
	fails 1 'nosuch' bench --trace nosuch
	echo '{"at_ms":0}' >bad
	fails 3 'bad: line 1: max_tokens' bench --trace bad
	fails 1 'nothing' infer-bench serve --url unix:nothing
}

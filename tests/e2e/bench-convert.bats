# infer-bench convert, and suites
load lib

@test "convert: llama-bench's JSON becomes records, and back the same figures" {
	cat >llama.json <<-'E'
	[
	  {"build_commit": "abc123", "build_number": 5, "cpu_info": "CPU", "backends": "CPU", "model_filename": "m.gguf", "model_type": "llama 1B Q4_0",
	   "model_size": 1000, "model_n_params": 2000, "n_batch": 2048, "n_threads": 2, "type_k": "f16", "n_prompt": 512, "n_gen": 0, "n_depth": 0,
	   "test_time": "2025-01-01T00:00:00Z", "avg_ns": 2570000000, "stddev_ns": 100, "avg_ts": 200.0, "stddev_ts": 10.0,
	   "samples_ns": [2694736842, 2560000000, 2438095238], "samples_ts": [190.0, 200.0, 210.0]},
	  {"build_commit": "abc123", "n_threads": 2, "n_prompt": 0, "n_gen": 128, "n_depth": 64, "avg_ts": 20.0, "stddev_ts": 0.0, "samples_ts": [20.0]}
	]
	E
	infer-bench convert llama.json >ours
	same 'prefill 512 200 200 210' "$(head -n 1 ours | json bench) $(head -n 1 ours | json tokens) $(head -n 1 ours | json tok_s.median) $(head -n 1 ours | json metrics.prefill_tok_s.p50.value) $(head -n 1 ours | json metrics.prefill_tok_s.values.2)"
	same 'decode 128 64 20' "$(tail -n 1 ours | json bench) $(tail -n 1 ours | json tokens) $(tail -n 1 ours | json depth) $(tail -n 1 ours | json tok_s.min)"
	infer-bench plot ours >/dev/null
	infer-bench convert --to llama-bench --out back ours
	# mean and deviation of 190, 200, 210; nanoseconds of 512 tokens at each
	same '512 200 10 2694736842 2560000000' "$(for k in n_prompt avg_ts stddev_ts samples_ns.0 samples_ns.1; do json 0.$k <back; done | tr '\n' ' ' | sed 's/ $//')"
	same 'abc123 64 128 0' "$(for k in build_commit n_depth n_gen n_prompt; do json 1.$k <back; done | tr '\n' ' ' | sed 's/ $//')"
	infer-bench convert back | sed 's/,"model":.*//' >again
	sed 's/,"model":.*//' ours | diff again -
	echo '{"kind":"bench","bench":"decode","tokens":1,"batch":2,"metrics":{"decode_tok_s":{"values":[1]}}}' >two
	fails 3 'two: llama-bench has only tests of one' infer-bench convert --to llama-bench two
	echo '{"n_prompt":5,"n_gen":5,"avg_ts":3}' >both
	fails 3 'both: .*neither prefill nor' infer-bench convert both
	echo '{"a":1}' >other
	fails 3 'other: is neither a record' infer-bench convert other
	fails 2 'takes files' infer-bench convert
}

@test "convert: vLLM's benchmark becomes a record, and back the same figures" {
	echo '{"backend":"vllm","model_id":"m","num_prompts":4,"request_rate":"inf","max_concurrency":2,"duration":2.0,"completed":4,"failed":0,"total_input_tokens":100,"total_output_tokens":40,"request_throughput":2.0,"output_throughput":20.0,"total_token_throughput":70.0,"mean_ttft_ms":25.0,"median_ttft_ms":25.0,"p99_ttft_ms":39.7,"mean_tpot_ms":5.0,"median_tpot_ms":4.5,"p99_tpot_ms":9.0,"ttfts":[0.01,0.02,0.03,0.04]}' >vllm.json
	infer-bench convert vllm.json >ours
	same 'serve closed 2 4 m' "$(json bench <ours) $(json workload.loop <ours) $(json workload.clients <ours) $(json counts.completed <ours) $(json served <ours)"
	same '25 39.7 4.5 20' "$(json metrics.ttft_ms.p50.value <ours) $(json metrics.ttft_ms.p99.value <ours) $(json metrics.tpot_ms.p50.value <ours) $(json metrics.tok_s.p50.value <ours)"
	infer-bench convert --to vllm ours >back
	for k in model_id num_prompts request_rate max_concurrency duration completed total_input_tokens total_output_tokens request_throughput output_throughput total_token_throughput mean_ttft_ms median_ttft_ms p99_ttft_ms median_tpot_ms p99_tpot_ms ttfts; do
		same "$k $(json $k <vllm.json | sed 's/\.0$//')" "$k $(json $k <back)"
	done
	fails 3 "vLLM's form is for servers" infer-bench convert --to vllm <(echo '{"kind":"bench","bench":"decode"}')
}

@test "suites: every run with its own options, those of the line for all, and errors with their place" {
	cat >suite.yaml <<-'E'
	version: 1
	runs:
	  - name: reading
	    options: {prompt: 8, repeat: 1}
	  - command: run
	    options:
	      max-tokens: "2,3"
	      repeat: 2
	      quick: true
	E
	infer-bench run --quick --suite suite.yaml --json --record r >out
	same "$(printf 'prefill 8 1\ndecode 2 2\ndecode 3 2')" "$(paste -d' ' <(json bench <out) <(json tokens <out) <(json repeat <out))"
	same 1 "$(grep -c '"v":1' out)"
	same 3 "$(wc -l <r)"
	printf 'version: 1\nruns:\n  - options: {nosuch: 1}\n' >bad
	fails 2 'nosuch' infer-bench run --suite bad
	printf 'version: 1\nruns:\n  - commands: run\n' >bad
	fails 3 'bad: line 3, column .*not commands' infer-bench run --suite bad
	printf 'version: 2\nruns: []\n' >bad
	fails 3 'bad: line 1' infer-bench run --suite bad
	fails 2 'suite goes with run and serve' infer-bench kernels --suite suite.yaml
}

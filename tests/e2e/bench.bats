# infer-bench
load lib

# one quick case, or a few
kernels() { infer-bench kernels --quick --repeat 1 "$@"; }

@test "kernels: a table for people, JSON lines for programs, and the same lines into a file" {
	kernels --filter q8_0 --filter rows --filter ref >a
	grep -q '^read, mapped file .* GB/s' a
	grep -Eq '^rows +Q8_0 +square +1 ref +[0-9.]+ +[0-9.]+ +(memory|fma|dot) +[0-9]\.[0-9]{3}$' a
	awk 'length > 80 { print; wide = 1 } END { exit wide }' a
	kernels --filter q8_0 --filter rows --filter ref --json --record r >b
	same bench "$(json kind <b | sort -u)"
	same "$(printf 'ceilings\nkernel')" "$(json bench <b | sort -u)"
	same 1 "$(head -n 1 b | json v)"
	cmp r b
	kernels --filter q8_0 --filter rows --filter ref --record r >c
	same "$(($(wc -l <b) * 2))" "$(wc -l <r)"
	printf '{"torn' >>r
	kernels --filter scale --filter ref --record r >c
	same "$(($(wc -l <b) * 2 + 2))" "$(json kind <r | wc -l)"
}

@test "kernels: every kernel has the bits of ref, and a part of a ceiling that is above 0" {
	kernels --json --filter attn,row,pack,quant --filter f16,f32,q4_k >a
	same true "$(tail -n +2 a | json same | sort -u)"
	tail -n +2 a | json fraction.median | awk '$1 <= 0 || $1 != $1 { exit 1 }'
	same 0 "$(tail -n +2 a | json limit | grep -cvxE 'memory|fma|dot')"
	# with activations in bf16
	kernels --filter rows-bf16,tile-bf16,pack-bf16,quant-bf16 --record b >table
	awk 'length > 80 { print; wide = 1 } END { exit wide }' table
	same true "$(tail -n +2 b | json same | sort -u)"
	same "$(printf 'BF16\nF16')" "$(tail -n +2 b | json type | sort -u)"
	same 4 "$(tail -n +2 b | json kernel | sort -u | wc -l)"
	same "$(head -n 1 b | grep -c tile_bf16)" "$(tail -n +2 b | json isa | sort -u | grep -cx amx)"
	for k in attn pack quant rms_norm silu_mul lse; do grep -q "\"kernel\":\"$k\"" a; done
}

@test "kernels: --isa measures one set, with what it has from narrower ones; --threads is in the record" {
	set -- $(infer-inspect hw | sed -n 's/^kernels *//p' | sed 's/[a-z0-9]* (not[^)]*)//g')
	last=${!#}
	kernels --isa "$last" --filter f32,q8_0 --filter rows,rms_norm -t 1 --json >a
	same "$last" "$(tail -n +2 a | json isa | sort -u)"
	grep -q '"kernel":"rms_norm"' a
	same 1 "$(json run.threads <a | sort -u)"
	INFER_ISA=ref kernels --filter q8_0 --filter quant --json >a
	same ref "$(tail -n +2 a | json isa | sort -u)"
}

@test "kernels: what is asked wrongly is a usage error, and what is not there yet is refused by name" {
	fails 2 'no case has this' kernels --filter nosuch
	fails 2 'is not a kernel set' kernels --isa nosuch
	fails 2 'takes no argument' kernels more
	fails 2 "goes with run, serve and ab only" kernels -p 3
	fails 2 '--kv-type goes with run only' kernels --kv-type f32
	fails 2 '--act-type goes with run only' kernels --act-type f32
	fails 2 'no sub-command: run' infer-bench
	fails 2 "'walk' is not a sub-command" infer-bench walk
	fails 2 'repeat' kernels --repeat 0
	fails 1 'missing/r' kernels --filter scale --record missing/r
	printf 'my notes' >notes
	fails 3 'notes: line 1 is not a record' kernels --filter scale --filter ref --record notes
	[ "$(cat notes)" = 'my notes' ]
	printf 'my notes\nhave no end' >notes
	cp notes kept
	fails 3 'notes: line 1 is not a record' kernels --filter scale --filter ref --record notes
	cmp notes kept
}

@test "run: a table, and records with the limit, the ceilings, the hash of the file and what is needed to run it again" {
	infer-bench run -p 40 -n 6 --repeat 2 >a
	same 3 "$(wc -l <a)"
	grep -Eq '^prefill +40 +0 +1 +[0-9.]+ +[0-9.]+-[0-9.]+ +[0-9.]+ +[0-9.]+ (memory|kv|compute) +[0-9.]+$' a
	grep -Eq '^decode +6 +0 +1 .* (memory|kv|compute) +[0-9.]+$' a
	run ! grep -E '^.{81}' a
	infer-bench run --quick -p 40 -n 6 --repeat 2 --json --record r >b
	cmp b r
	same "$(printf 'prefill\ndecode')" "$(json bench <b)"
	same "$(sha256sum "$M" | cut -d' ' -f 1)" "$(json sha256.0 <b | sort -u)"
	same "$(infer-inspect --json | head -n 1 | json id)" "$(json run.model.id <b | sort -u)"
	for f in tok_s.median fraction.min mapped_gb_s.median fma_gflop_s.median dot_gop_s.max weight_bytes kv_bytes ops limit_tok_s; do
		json $f <b | awk '!($1 > 0) { exit 1 }'
	done
}

@test "run: bytes of a token are those of the matrices and of the cache, shared by sequences that decode at once" {
	infer-bench run --quick -n 4 --depth 0,100 --seqs 1,4 --repeat 1 --json >a
	same "$(printf '1 0\n1 100\n4 0\n4 100')" "$(paste -d' ' <(json batch <a) <(json depth <a))"
	# all but the table of embeddings, of which a row
	table=$(infer-inspect tensors --json | grep '"token_embd.weight"' | json size_bytes)
	all=$(infer-inspect tensors --json | grep -v norm | json size_bytes | awk '{ s += $1 } END { print s }')
	w=$(head -n 1 a | json weight_bytes)
	[ "$w" -ge $((all - table)) ] && [ "$w" -le "$all" ]
	sed -n 3p a | json weight_bytes | awk -v w="$w" '{ exit !($1 > 0.24 * w && $1 < 0.3 * w) }'
	# 104 positions of every layer in f16; in f32 twice that
	kv=$(sed -n 2p a | json kv_bytes)
	infer-bench run --quick -n 4 --depth 100 --repeat 1 --kv-type f32 --json >b
	same $((2 * kv)) "$(json kv_bytes <b)"
	same f32 "$(json run.kv_type <b)"
	same '["--quick","--kv-type=f32"]' "$(json run.flags <b)"
}

@test "run: with activations in bf16 the limit is that of tiles, where there are any" {
	mkmodel --type bf16 half.gguf
	for type in f32 bf16; do infer-bench run --quick -m half.gguf -p 40 -n 4 --repeat 1 --act-type $type --json >$type; done
	same bf16 "$(json run.act_type <bf16 | sort -u)"
	same "$(json ops <f32)" "$(json ops <bf16)"
	same 0 "$(grep -c tile_bf16_gflop_s f32)"
	tiles=0
	if infer-bench kernels --quick --repeat 1 --filter scale --json | grep -q tile_bf16; then tiles=2; fi
	same $tiles "$(grep -c tile_bf16_gflop_s bf16)"
}

@test "run: what is asked wrongly is a usage error, what does not fit has its own code" {
	fails 2 'must be a list' infer-bench run -p 12x
	fails 2 'must be a list' infer-bench run -n 1,,2
	fails 2 'must be a list' infer-bench run --seqs 0
	fails 2 'goes with kernels only' infer-bench run --filter q8_0
	fails 2 'takes no argument' infer-bench run model.gguf
	fails 1 'nosuch' infer-bench run -m nosuch.gguf
	fails 4 'context' infer-bench run -p 100 -c 50
	fails 4 'the depth must be at most' infer-bench run -n 4 --depth 1000000 --repeat 1
	INFER_MODEL='' fails 2 'no model' infer-bench run
}

@test "run --lora: adapters are applied and part of the limit, and the record names them" {
	mklora -r 4 -a 8 -s 1 -n sql -t attn_q,attn_v,ffn_down "$M" a.gguf
	mklora -r 2 -a 8 -s 2 -n chat -t attn_q "$M" c.gguf
	go() { infer-bench run --quick -p 0 -n 4 --repeat 1 "$@"; }
	go --json >base
	go --json --lora a.gguf=0.5 --lora c.gguf >a
	same 'sql 0.5 chat 1' "$(for k in 0.name 0.scale 1.name 1.scale; do json run.adapters.$k <a; done | paste -sd' ')"
	same "$(sha256sum <a.gguf | cut -d' ' -f1)" "$(json run.adapters.0.sha256 <a)"
	same '["--quick","--lora=a.gguf=0.5","--lora=c.gguf"]' "$(json run.flags <a)"
	! grep -q '"adapters"' base
	# bytes and operations of a token: those of the adapters' own numbers
	infer-inspect lora -m "$M" --json a.gguf c.gguf >l
	more() { awk -v from="$(json "$1" <base)" -v to="$(json "$1" <a)" 'BEGIN { printf "%.0f\n", to - from }'; }
	same "$(json memory_bytes <l | awk '{ s += $1 } END { print s }')" "$(more weight_bytes)"
	same "$(json parameters <l | awk '{ s += $1 } END { print 2 * s }')" "$(more ops)"
	go --lora a.gguf=0.5 --lora c.gguf >t
	same 'adapters: sql=0.5, chat=1' "$(head -n 1 t)"
	same 3 "$(wc -l <t)"
	# a token uses some of the experts
	local moe=$TOP/tests/golden/logits/mixtral.gguf of=$TOP/tests/golden/lora/mixtral/w1
	go -m "$moe" --json >base
	go -m "$moe" --json --lora "$of" >a
	infer-inspect lora -m "$moe" --json "$of" >l
	part=$(infer-inspect --json "$moe" | awk -F'[:,}]' '/expert_used_count/ { u = used($0) } /expert_count/ { n = used($0) } function used(s) { sub(/.*"value":/, "", s); return s + 0 } END { print u / n }')
	same "$(awk -v p="$part" -v b="$(json memory_bytes <l)" 'BEGIN { print p * b }')" "$(more weight_bytes)"
	# requests have them: two that replace the same tensor do not go together
	local hub=$TOP/tests/golden/logits/llama3-hub.gguf head=$TOP/tests/golden/lora/llama3-hub/save-head
	fails 3 'replace this tensor' go -m "$hub" --lora "$head" --lora "$head"
	fails 3 'architecture|tensor' go -m "$hub" --lora a.gguf
	fails 1 'nosuch' go --lora nosuch
	fails 2 '--lora does not go with --first-token' go --lora a.gguf --first-token warm
	fails 2 '--lora goes with run only' infer-bench kernels --lora a.gguf
	go --json --lora a.gguf >b
	fails 3 'llama-bench has no adapters' infer-bench convert --to llama-bench b
}

@test "run --plan: a plan with adapters measures them" {
	mklora -r 4 -a 8 "$M" a.gguf
	printf '%s\n' 'name: host' 'threads: 2' 'memory_bytes: 25000000000' 'memory_gb_s: 40' 'f32_gflop_s: 200' \
		'i8_gop_s: 800' 'decode_part: 0.9' 'prefill_part: 0.7' >hw.yaml
	infer-inspect plan -m "$M" --lora a.gguf --hw hw.yaml --users 1 --prompt 8 --output 4 --json >p
	fails 2 'the plan is with adapters of rank 4: give them by --lora' infer-bench run --quick --repeat 1 --plan p
	infer-bench run --quick --repeat 1 --plan p --lora a.gguf --json >a
	same 'a 1' "$(head -n 1 a | json run.adapters.0.name) $(head -n 1 a | json run.adapters.0.scale)"
}

@test "run --first-token: from memory and from the disk; what cannot be put out of memory is refused" {
	cp "$M" own.gguf
	if [ "$(stat -f -c %T .)" = tmpfs ]; then
		fails 1 'stay in memory' infer-bench run -m own.gguf -p 0 -n 0 --repeat 1 --quick --first-token cold
		skip 'the temporary files lie on no disk'
	fi
	infer-bench run -m own.gguf -p 0 -n 0 --repeat 2 --quick --first-token both --json >a
	same "$(printf 'first warm\nfirst cold')" "$(paste -d' ' <(json bench <a) <(json cache <a))"
	same "2 2" "$(json metrics.first_token_ms.values.# <a | paste -sd' ')"
	json metrics.first_token_ms.p50.value <a | awk '!($1 > 0) { exit 1 }'
	same "$(stat -c %s own.gguf)" "$(json file_bytes <a | sort -u)"
	infer-bench run -m own.gguf -p 0 -n 0 --repeat 1 --quick --first-token warm >t
	grep -Eqx 'first token from memory: [0-9.]+ ms \([0-9.]+-[0-9.]+\)' t
	fails 3 'is not a file' infer-bench run -m demo -p 0 -n 0 --repeat 1 --quick --first-token cold
	fails 2 'goes with run only' infer-bench kernels --first-token warm
}

@test "run --plan: what a plan was asked for is measured, beside what it predicts" {
	# a described machine: nothing is measured for the plan
	printf '%s\n' 'name: host' 'threads: 2' 'memory_bytes: 25000000000' 'memory_gb_s: 40' 'f32_gflop_s: 200' \
		'i8_gop_s: 800' 'decode_part: 0.9' 'prefill_part: 0.7' >hw.yaml
	infer-inspect plan -m demo --hw hw.yaml --users 2 --prompt 40 --output 8 --kv-type q8_0,f16 --json >p
	infer-bench run --plan - --quick --repeat 1 --json --record r <p >a
	cmp a r
	same "$(printf 'prefill 40 0 1\ndecode 8 40 2')" \
		"$(paste -d' ' <(json bench <a) <(json tokens <a) <(json depth <a) <(json batch <a))"
	same q8_0,f16 "$(json run.kv_type <a | sort -u)"
	near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0.999 * b && a < 1.001 * b) }'; }
	near "$(head -n 1 a | json predicted_tok_s)" "$(json asked.prefill_tok_s <p)"
	near "$(tail -n 1 a | json predicted_tok_s)" "$(awk -v ms="$(json asked.decode.predicted_ms <p)" 'BEGIN { print 2000 / ms }')"
	! grep -q adjusted a # a described machine has no rates to compare with
	infer-bench run --plan p --quick --repeat 1 >t
	awk 'length > 80 { print; wide = 1 } END { exit wide }' t
	grep -Eq '^decode +8 +40 +2 +[0-9.]+ +[0-9.]+ +[0-9.]+ ' t
}

@test "run --plan: a prediction is set against the rates that the machine had during the run" {
	# as one that was measured: of a prompt arithmetic takes all of the time, of a step memory
	printf '%s\n' 'name: host' 'measured: 1' 'threads: 2' 'memory_bytes: 25000000000' 'memory_gb_s: 1' 'f32_gflop_s: 2' \
		'i8_gop_s: 8' 'decode_part: 0.9' 'prefill_part: 0.7' >hw.yaml
	infer-inspect plan -m demo --hw hw.yaml --users 1 --prompt 40 --output 8 --json >p
	infer-bench run --plan p --quick --repeat 1 --json >a
	jq -e -s --slurpfile p p 'length == 2 and all(.[]; . as $r | $p[0].asked[.bench] as $s | ($s.parts_ms.memory // 0) as $m |
		($m * $p[0].memory_gb_s / (.adjusted.memory_gb_s.median // 1) +
		 ($s.predicted_ms - $m) * $p[0].i8_gop_s / .adjusted.i8_gop_s.median) as $ms |
		$ms > 0 and (.adjusted.tok_s.median * $ms / $s.predicted_ms / .predicted_tok_s - 1 | fabs) < 0.001 and
		(.adjusted.ratio.median * .adjusted.tok_s.median / .tok_s.median - 1 | fabs) < 0.001)' a
	# memory is read where it takes a part of the time
	jq -e -s --slurpfile p p 'all(.[]; (($p[0].asked[.bench].parts_ms.memory // 0) > 0) == (.adjusted.memory_gb_s != null))' a
	infer-bench run --plan p --quick --repeat 1 >t
	awk 'length > 80 { print; wide = 1 } END { exit wide }' t
	head -n 1 t | grep -q then
}

@test "run --plan: what is no plan, or not for this machine, is refused by name" {
	fails 2 '--prompt does not go with --plan' infer-bench run --plan p -p 4
	fails 2 'goes with run and serve only' infer-bench kernels --plan p
	fails 1 'missing' infer-bench run --plan missing
	echo '{"v":1,"kind":"bench"}' >p
	fails 3 'has no plan' infer-bench run --plan p
	echo '{"v":1,"kind":"plan","model":"demo","asked":{"users":0}}' >p
	fails 3 'users' infer-bench run --plan p
	echo '{"v":1,"kind":"plan","model":"demo","asked":{"users":1,"prompt":4}}' >p
	fails 3 'output' infer-bench run --plan p
	echo 'not JSON' >p
	fails 3 'line 1' infer-bench run --plan p
	infer-inspect plan -m demo --hw h100 --json >p
	fails 3 'accelerators' infer-bench run --plan p
}

# infer-bench
load lib

# one quick case, or a few
kernels() { infer-bench kernels --quick --repeat 1 "$@"; }

@test "kernels: a table for people, JSON lines for programs, and the same lines into a file" {
	kernels --filter q8_0 --filter rows --filter ref >a
	grep -q '^read, mapped file .* GB/s' a
	grep -Eq '^rows +Q8_0 +square +2048 +2048 +1 ref +[0-9.]+ +[0-9.]+ +(memory|fma|dot) +[0-9]\.[0-9]{3} \(' a
	kernels --filter q8_0 --filter rows --filter ref --json --record r >b
	same bench "$(json kind <b | sort -u)"
	same "$(printf 'ceilings\nkernel')" "$(json bench <b | sort -u)"
	same 1 "$(head -n 1 b | json v)"
	cmp r b
	kernels --filter q8_0 --filter rows --filter ref --record r >c
	same "$(($(wc -l <b) * 2))" "$(wc -l <r)"
}

@test "kernels: every kernel has the bits of ref, and a part of a ceiling that is above 0" {
	kernels --json --filter attn,row,pack,quant --filter f16,f32,q8_0,q4_k >a
	same true "$(tail -n +2 a | json same | sort -u)"
	tail -n +2 a | json fraction.median | awk '$1 <= 0 || $1 != $1 { exit 1 }'
	same 0 "$(tail -n +2 a | json limit | grep -cvxE 'memory|fma|dot')"
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
	fails 2 'no case has such' kernels --filter nosuch
	fails 2 'is no kernel set' kernels --isa nosuch
	fails 2 'takes no argument' kernels more
	fails 2 'nothing to measure' infer-bench
	fails 2 "'walk' is none of" infer-bench walk
	for s in serve compare plot; do fails 2 "$s is not supported" infer-bench $s; done
	fails 2 'repeat' kernels --repeat 0
	fails 1 'nowhere' kernels --filter scale --record /nowhere/r
}

# from exec to exit: what a run costs beside its arithmetic
load lib

setup_more()
{
	# 25 MB of weights
	mkmodel --embd 512 --layers 4 big.gguf
	[ -n "${SAN:-}" ] || "$TOP/tests/tools/start-cost" -r 3 big.gguf >cost
}
setup() { cd "$BATS_FILE_TMPDIR" || return; }
sanitized() { [ -z "${SAN:-}" ] || skip "needs a build without sanitizers, whose start takes longer"; }
# at_most A B: numbers
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { if (a > b) { print a " is above " b; exit 1 } }'; }
of() { json "$1" <cost; }

@test "a program links libc, libm, pcre2 and zstd, and nothing else" {
	sanitized
	same '["libc","libm","libpcre2-8","libzstd"]' "$(of libraries)"
}

# times are noisy: ten times what is promised
@test "a process costs 30 ms and 25 ms a GB beside its request" {
	sanitized
	at_most "$(of one)" "$(awk -v a="$(of again)" -v p="$(of promise)" 'BEGIN { print a + 10 * (p - a) }')"
}

@test "four at once take no more than 1.25 of the time of the four in sequence" {
	sanitized
	at_most "$(of at_once)" "$(awk -v f="$(of four)" 'BEGIN { print 12.5 * f }')"
}

@test "weights that are touched and 64 MiB are resident, and only the 64 MiB are private; processes share the file" {
	sanitized
	at_most "$(of peak_bytes)" $(($(of touched_bytes) + 67108864))
	at_most "$(of private_bytes)" 67108864
	[ "$(of private_bytes)" -gt 0 ]
	at_most "$(of pss_bytes)" $(($(of file_bytes) + 4 * 67108864))
}

@test "--stats names the phases from exec to exit" {
	infer-run -q --raw --no-stdin -m big.gguf -n 2 --stats the of 2>s >/dev/null
	for p in exec_ms options_ms file_ms tokenizer_ms bind_ms plan_ms prompt_ms prefill_ms first_token_ms first_touch_faults; do
		json phases.$p <s | awk '!($1 > 0) { exit 1 }'
	done
	json phases.first_touch_ms <s | awk '$1 < 0 || $1 != $1 { exit 1 }'
	json exit_ms <s | awk '!($1 > 0) { exit 1 }'
	# what is read and computed before the first token stands in it
	at_most "$(for p in file_ms tokenizer_ms bind_ms plan_ms prompt_ms prefill_ms; do json phases.$p <s; done |
		awk '{ s += $1 } END { print s }')" "$(json phases.first_token_ms <s)"
	infer-run -q --score --no-stdin -m big.gguf --stats the of 2>s >/dev/null
	same null "$(json phases.prefill_ms <s)"
}

@test "threads wait for each other where the data flow has them: four times a layer, and for the logits" {
	barriers() { infer-run -q --raw --no-stdin --ignore-eos -t 2 -m big.gguf -n "$1" --stats the 2>&1 >/dev/null | json barriers; }
	a=$(barriers 2)
	same $((20 * (4 * 4 + 1))) $(($(barriers 22) - a))
	same 0 "$(infer-run -q --raw --no-stdin -t 1 -m big.gguf -n 2 --stats the 2>&1 >/dev/null | json barriers)"
}

@test "every allocation of the start fails in turn: the line says that memory is missing" {
	[ -e "$B/tests/fault/fault.so" ] || skip 'not for builds with sanitizers'
	local n good=0 failed=0

	for ((n = 1; n <= 2000 && good < 40; n++)); do # what comes after 40 good runs is not reached any more
		rc=0
		FAULT=malloc:ENOMEM:$n LD_PRELOAD=$B/tests/fault/fault.so infer-run --tokenize --no-stdin 'the of and' >ids 2>err || rc=$?
		good=$((rc ? 0 : good + 1))
		[ $rc = 0 ] && continue
		failed=$((failed + 1))
		[ $rc = 4 ] && [ ! -s ids ] && [ "$(wc -l <err)" = 1 ] && grep -q '^infer-run: error: .*memory' err || { echo "$n: $rc"; cat err; return 1; }
	done
	[ $failed -gt 20 ]
}

@test "what has no record does not read the samples that the id of a model covers" {
	[ -e "$B/tests/fault/fault.so" ] || skip 'not for builds with sanitizers'
	local tensors text
	# reads ARGUMENT...: how many a run makes
	reads()
	{
		rm -f report
		truncate -s 4096 report
		FAULT_REPORT=$PWD/report LD_PRELOAD=$B/tests/fault/fault.so infer-run -q --no-stdin "$@" >said
		[ -s said ] && od -An -t u8 -j 48 -N 8 report | tr -d ' '
	}
	tensors=$(infer-inspect tensors --json "$M" | wc -l)
	text=$(reads -n 1 the)
	same $((text + tensors)) "$(reads -n 1 --json the)"
	for how in --tokenize --render; do
		[ "$(reads -m "$TOP/libcore/demo/demo.gguf" $how the)" -lt 10 ]
	done
	[ "$(infer-inspect tensors --json demo | wc -l)" -gt 20 ]
}

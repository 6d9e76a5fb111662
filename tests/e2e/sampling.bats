# infer-run: every sampling option takes effect, is in the record, and is refused out of its range
load lib
load serve

setup_more()
{
	infer-serve -m "$M" -t 1 --listen unix:served >listening 2>said 3>&- &
	echo $! >pid
	up listening
}
teardown_file() { kill -TERM "$(cat "$BATS_FILE_TMPDIR/pid")"; }
# go OPTION...: what infer-run prints; the bytes from a server must be the same
go()
{
	local rc=0 me=$BASHPID

	infer-run -q --no-stdin --ignore-eos --seed 5 "$@" the of >"here.$me" || rc=$?
	env -u INFER_MODEL infer-run -q --server "unix:$BATS_FILE_TMPDIR/served" --no-stdin --ignore-eos --seed 5 "$@" the of >"there.$me" || :
	diff <(still "here.$me") <(still "there.$me") >>differ || echo "from a server: $*" >>differ
	cat "here.$me"
	return "$rc"
}
teardown() { [ ! -s differ ] || { cat differ; return 1; }; }
# the options of numbers of sampling are those that the test wrote into the file tried, a line each
all_tried() {
	sed -n 's/^PARAM(.*, \(REAL\|WHOLE\), "[a-z_]*", "\([a-z-]*\)", .*/\2/p' "$TOP/libcore/sample/param_list.h" | sort >listed
	[ -s listed ]
	sort tried | diff listed - || { echo 'those of param_list.h (<) are not those of this test (>)'; return 1; }
}
sampler() { go -n 0 --json "$@" | json "run.sampler.$field"; }

@test "each number is in the record as it was given" {
	while read -r option value field; do
		same "$value" "$(sampler "--$option" "$value")"
		echo "$option" >>tried
	done <<-END
		temp 0.7 temperature
		dynatemp-range 0.3 dynatemp_range
		dynatemp-exp 1.5 dynatemp_exponent
		top-k 7 top_k
		top-p 0.9 top_p
		min-p 0.1 min_p
		typical 0.6 typical_p
		top-n-sigma 1.5 top_n_sigma
		xtc-probability 0.5 xtc_probability
		xtc-threshold 0.2 xtc_threshold
		repeat-penalty 1.25 repeat_penalty
		repeat-last-n 9 repeat_last_n
		presence-penalty -0.5 presence_penalty
		frequency-penalty 0.5 frequency_penalty
		dry-multiplier 0.8 dry_multiplier
		dry-base 1.5 dry_base
		dry-allowed-length 3 dry_allowed_length
		dry-penalty-last-n 11 dry_penalty_last_n
		mirostat 2 mirostat
		mirostat-tau 4 mirostat_tau
		mirostat-eta 0.25 mirostat_eta
	END
	all_tried
}

@test "-1 is off where 0 is, and is recorded as 0" {
	field=top_k
	same 0 "$(sampler --top-k -1)"
	field=top_n_sigma
	same 0 "$(sampler --top-n-sigma -1)"
}

@test "a number has one range, for options, requests and models; the forms of other servers have theirs" {
	while read -r option field low high; do
		for v in $low $high; do
			fails 2 "--$option: $v is out of range" infer-run "--$option=$v" the
			echo "{\"prompt\":\"the\",\"$field\":$v}"
		done >>r
		echo "$option" >>tried
	done <<-END
		temp temperature -0.1 100.1
		dynatemp-range dynatemp_range -0.1 100.1
		dynatemp-exp dynatemp_exponent 0 100.1
		top-k top_k -2 2147483648
		top-p top_p 0 1.1
		min-p min_p -0.1 1.1
		typical typical_p 0 1.1
		top-n-sigma top_n_sigma -1.1 1001
		xtc-probability xtc_probability -0.1 1.1
		xtc-threshold xtc_threshold -0.1 1.1
		repeat-penalty repeat_penalty 0 100.1
		repeat-last-n repeat_last_n -2 2147483648
		presence-penalty presence_penalty -100.1 100.1
		frequency-penalty frequency_penalty -100.1 100.1
		dry-multiplier dry_multiplier -0.1 100.1
		dry-base dry_base 0.9 100.1
		dry-allowed-length dry_allowed_length 0 2147483648
		dry-penalty-last-n dry_penalty_last_n -2 2147483648
		mirostat mirostat -1 3
		mirostat-tau mirostat_tau 0 100.1
		mirostat-eta mirostat_eta 0 100.1
	END
	run -7 --separate-stderr infer-run -q --batch r
	same "$(wc -l <r)" "$(grep -cE '"code":"INFER_EINVAL","message":"[a-z_]+ is -?[0-9.]+: (must be )?(from|above) ' <<<"$output")"
	all_tried
	body() { echo "{\"custom_id\":\"$1\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":\"the\",\"max_tokens\":0,$2}}"; }
	{ body a '"temperature":2' ; body b '"temperature":2.1'; body c '"presence_penalty":-2'; body d '"frequency_penalty":2.1'; } >o
	run -7 --separate-stderr infer-run -q --batch o
	same $'a 200\nb 400\nc 200\nd 400' "$(perl -MJSON::PP -ne '$v = decode_json($_); print "$v->{custom_id} ", $v->{response}{status_code} // 400, "\n"' <<<"$output" | sort)"
}

@test "each changes what is drawn" {
	plain=$(go -n 60)
	for o in --temp=2 --dynatemp-range=0.8 --top-k=3 --top-p=0.3 --min-p=0.9 --typical=0.2 --top-n-sigma=0.5 \
		"--xtc-probability=1 --xtc-threshold=0.01" --repeat-penalty=1.9 --presence-penalty=2 --frequency-penalty=2 \
		--mirostat=1 "--mirostat=2 --mirostat-tau=2" --samplers=temperature --logit-bias=9=100; do
		# shellcheck disable=SC2086
		[ "$plain" != "$(go -n 60 $o)" ] || { echo "$o does nothing"; return 1; }
	done
	go -n 120 --temp 0 >greedy
	! cmp -s greedy <(go -n 120 --temp 0 --dry-multiplier 5 --dry-base 4)
}

@test "--logit-bias forces a token and forbids it" {
	ids=$(go -n 4 -o tokens --logit-bias 9=100 | json id)
	same $'9\n9\n9\n9' "$ids"
	first=$(go -n 1 --temp 0 -o tokens | json id)
	[ "$first" != "$(go -n 1 --temp 0 -o tokens --logit-bias "$first=-inf" | json id)" ]
	same '[[9,100],[3,null]]' "$(field=logit_bias sampler --logit-bias 9=100 --logit-bias 3=-inf)"
}

@test "--stop-token ends there, with the reason stop" {
	third=$(go -n 3 -o tokens | json id | sed -n 3p)
	at=$(go -n 9 -o tokens | json id | grep -nx "$third" | head -1 | cut -d: -f1)
	same "$at stop" "$(go -n 9 --json --stop-token 1 --stop-token "$third" |
		perl -MJSON::PP -ne '$v = decode_json($_); print "$v->{usage}{completion_tokens} $v->{finish_reason}\n"')"
}

@test "--samplers names stages and their order" {
	field=samplers
	same '["top_k","temperature"]' "$(sampler --samplers 'top-k;temp')"
	same '["typ_p","min_p","xtc"]' "$(sampler --samplers typical,min_p,xtc)"
	fails 2 "--samplers: no stage 'top'" infer-run --no-stdin --samplers top_k,top the
	fails 2 "--samplers names top_k twice" infer-run --no-stdin --samplers top_k,top_k the
}

@test "no run reaches over a sequence breaker; none takes them away" {
	same '["\n",":","\"","*"]' "$(field=dry_sequence_breakers sampler --dry-multiplier 1)"
	same '["a","bc"]' "$(field=dry_sequence_breakers sampler --dry-multiplier 1 --dry-sequence-breaker a --dry-sequence-breaker bc)"
	same '[]' "$(field=dry_sequence_breakers sampler --dry-multiplier 1 --dry-sequence-breaker a --dry-sequence-breaker none)"
	same null "$(field=dry_sequence_breakers sampler)"
	# a breaker in every token: no run at all, so nothing is penalised
	plain=$(go -n 120 --temp 0)
	[ "$plain" != "$(go -n 120 --temp 0 --dry-multiplier 5 --dry-base 4)" ]
	breakers=()
	for c in a b c d e f g h i j k l m n o p q r s t u v w x y z ' '; do breakers+=(--dry-sequence-breaker "$c"); done
	same "$plain" "$(go -n 120 --temp 0 --dry-multiplier 5 --dry-base 4 "${breakers[@]}")"
}

@test "a window of 0 switches penalties and DRY off" {
	plain=$(go -n 40)
	same "$plain" "$(go -n 40 --repeat-penalty 1.9 --presence-penalty 2 --repeat-last-n 0)"
	same "$plain" "$(go -n 40 --dry-multiplier 5 --dry-penalty-last-n 0)"
}

@test "what is out of range or malformed is refused by name" {
	fails 2 "--typical: 0 is out of range" infer-run --typical 0 the
	fails 2 "--presence-penalty: -101 is out of range \\(-100 " infer-run --presence-penalty -101 the
	fails 2 "--mirostat: 3 is out of range" infer-run --mirostat 3 the
	fails 2 "--dry-base: 0.5 is out of range" infer-run --dry-base 0.5 the
	fails 2 "--logit-bias: 'x' does not begin with a token id" infer-run --logit-bias x the
	fails 2 "--logit-bias: '4' is not ID=B" infer-run --logit-bias 4 the
	fails 2 "--logit-bias: '4=' is not ID=B" infer-run --logit-bias 4= the
	fails 2 "--logit-bias: '4=nan' is not ID=B" infer-run --logit-bias 4=nan the
	fails 2 "--logit-bias: 99999999=1: the vocabulary has" infer-run --logit-bias 99999999=1 the
	fails 2 "--stop-token: '4x' is not a token id" infer-run --stop-token 4x the
	fails 2 "--stop-token: 123456789012: the vocabulary has" infer-run --stop-token 123456789012 the
}

# infer-jsonl(5) by example
load lib

@test "the records in infer-jsonl(5) have the fields that the programs print, and what jq takes is there" {
	run --separate-stderr "$TOP/scripts/mk-jsonl" --check
	echo "$output"
	[ -z "$output" ]
	[ "$status" = 0 ]
}

# differs EXPRESSION SAYS: with the page changed by a sed expression the check says so
differs() {
	mkdir -p tree/scripts tree/man tree/libcore/record
	cp "$TOP/scripts/mk-jsonl" tree/scripts
	cp "$TOP/libcore/record/kind_list.h" tree/libcore/record
	ln -sfn "$TOP/tests" tree/tests   # models of the examples
	sed -E "$1" "$TOP/man/infer-jsonl.5" >tree/man/infer-jsonl.5
	export KEEP=$PWD
	run cmp -s "$TOP/man/infer-jsonl.5" tree/man/infer-jsonl.5
	[ "$status" = 1 ]
	run --separate-stderr tree/scripts/mk-jsonl --check
	[ "$status" = 1 ]
	grep -q "$2" <<<"$output" || { echo "$output"; return 1; }
}

@test "a field that is gone, new, moved, of another type or not listed is found, and so is a kind without example" {
	differs 's/"shard":0,//' 'offset_bytes stands where the page has\|shard stands where the page has'
	differs 's/("error_max":0)/\1,"more":1/' 'more is not there'
	differs 's/,"error_max":0//' 'error_max is not in the page'
	differs 's/"finite":true/"finite":1/' 'finite is a boolean, no number'
	differs 's/^\.It Va page_bytes/.It Va pagebytes/' 'page_bytes is not listed in hw'
	differs '/^\$ .*tensors/,/^\.Ed/d' 'run mk-jsonl'
	differs 's/timings\.decode_tok_s/timings.decode_tok/' 'timings.decode_tok is in no example'
	differs 's/"max_tokens": 20/"max_token": 20/' 'no request that is taken'
}

# tokenizer.json of a directory: what GGUF has no keys for is kept by a copy of the directory
load lib

setup_more()
{
	mkmodel --type f16 m.gguf && mkhf m.gguf d
	cp -r d lower
	sed 's/"normalizer": *null/"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]}/' d/tokenizer.json >lower/tokenizer.json
}
setup() { cd "$BATS_FILE_TMPDIR" || return; }
ids_of() { infer-run -q -m "$1" --no-stdin --tokenize "$2"; }

@test "a normaliser is applied to what is asked, from the directory and from its copy" {
	cmp -s d/tokenizer.json lower/tokenizer.json && return 1
	same "$(ids_of d 'the of')" "$(ids_of lower 'ＴＨＥ OF')"
	[ "$(ids_of d 'THE OF')" != "$(ids_of lower 'THE OF')" ]
	infer-quant -q --copy lower lower.gguf
	infer-quant -q --type Q8_0 lower q8.gguf
	for m in lower.gguf q8.gguf; do same "$(ids_of d 'the of')" "$(ids_of $m 'ＴＨＥ OF')"; done
	infer-quant -q --copy d d.gguf
	infer-inspect --json d.gguf | grep -q tokenizer.infer && return 1
	infer-inspect --json lower.gguf | grep -q tokenizer.infer.normalizer
}

@test "a step that is not supported is named, with the directory" {
	cp -r d odd
	sed 's/"normalizer": *null/"normalizer":{"type":"Bogus"}/' d/tokenizer.json >odd/tokenizer.json
	fails 3 'odd: normalizer.type Bogus is not supported' infer-run -m odd --no-stdin the
}

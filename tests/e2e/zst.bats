# models that are compressed with zstd: the same answers, ids and numbers as from the file that they unpack to
load lib

setup_more() { mkmodel --embd 256 --layers 3 m.gguf && zst m.gguf m.gguf.zst && zst m.gguf three.zst 3; }
setup() { cd "$BATS_FILE_TMPDIR" || return; }
SAYS='m.gguf.zst: compressed: unpacked to [0-9.]* MiB of memory that no other process shares$'

@test "infer-run gives the same text, scores and tokens, and records the same id and size; the path is the one that was given" {
	for o in '-n 8 --temp 0 --ignore-eos --raw' '-n 8 --seed 3 --ignore-eos' --score --tokenize '-n 4 --seed 2 -o tokens --logprobs 2'; do
		# shellcheck disable=SC2086
		infer-run -q -m m.gguf --no-stdin $o the of and >a
		for z in m.gguf.zst three.zst; do
			# shellcheck disable=SC2086
			infer-run -q -m $z --no-stdin $o the of and | cmp a -
		done
	done
	[ -s a ]
	for m in m.gguf m.gguf.zst three.zst; do
		infer-run -q -m $m --no-stdin --seed 1 -n 4 --json the >$m.json
		same $m "$(json run.model.path <$m.json)"
		same "$(stat -c %s m.gguf)" "$(json run.model.file_bytes <$m.json)"
		same "$(json run.model.id <m.gguf.json)" "$(json run.model.id <$m.json)"
		same "$(json text <m.gguf.json)" "$(json text <$m.json)"
	done
	infer-run -q -m m.gguf --no-stdin --temp 0 -n 4 --batch - --with-request <<<'{"prompt":"the of","max_tokens":4}' >records
	infer-run -q -m m.gguf.zst --replay records | grep -q '1 record, all the same'
}

@test "programs that compute say in one line what they took memory for, and -q silences it" {
	infer-run -m m.gguf.zst --no-stdin -n 1 the 2>err >/dev/null
	same 1 "$(wc -l <err)"
	grep -q "^infer-run: warning: $SAYS" err
	infer-bench run -m m.gguf.zst -p 8 -n 2 --repeat 1 2>err >/dev/null
	grep -q "^infer-bench: warning: $SAYS" err
	infer-run -q -m m.gguf.zst --no-stdin -n 1 the 2>err >/dev/null
	[ ! -s err ]
	infer-run -m m.gguf --no-stdin -n 1 the 2>err >/dev/null
	[ ! -s err ]
	for s in show tensors verify; do
		infer-inspect $s m.gguf.zst 2>err >/dev/null
		[ ! -s err ]
	done
}

@test "infer-inspect shows the same but for the name, and how large it is on disk" {
	infer-inspect --all m.gguf | grep -v '^file ' >a
	infer-inspect --all m.gguf.zst >b
	grep -q '^file       m.gguf.zst$' b
	grep -q "^compressed $(stat -c %s m.gguf.zst) (" b
	grep -v '^file \|^compressed ' b | cmp a -
	same "$(stat -c %s m.gguf.zst)" "$(infer-inspect --json m.gguf.zst | head -n 1 | json packed_bytes)"
	same null "$(infer-inspect --json m.gguf | head -n 1 | json packed_bytes)"
	same gguf "$(infer-inspect --json m.gguf.zst | head -n 1 | json format)"
	for s in tensors verify; do
		infer-inspect $s m.gguf >a
		infer-inspect $s m.gguf.zst | cmp a -
	done
	same "$(sha256sum m.gguf | cut -d ' ' -f 1)" "$(infer-inspect verify --json m.gguf.zst | json sha256.0)"
	same "$(infer-inspect tokens -m m.gguf the of)" "$(infer-inspect tokens -m m.gguf.zst the of)"
	infer-inspect m.gguf three.zst m.gguf.zst >a
	same 3 "$(grep -c '^runs here: yes' a)"
}

@test "infer-bench records the id and the sha256 of what is unpacked" {
	for m in m.gguf m.gguf.zst; do
		infer-bench run -q -m $m -p 8 -n 2 --repeat 1 --json 2>err >$m.json
		[ ! -s err ]
	done
	for f in run.model.id run.model.file_bytes sha256.0 tokens; do
		same "$(json $f <m.gguf.json)" "$(json $f <m.gguf.zst.json)"
	done
}

@test "the sandbox bears it" {
	sandbox --read >/dev/null 2>why || true
	[ ! -s why ] || skip "$(cat why)"
	same "$(infer-run -q -m m.gguf --no-stdin --temp 0 -n 4 the)" "$(infer-run -q --sandbox -m m.gguf.zst --no-stdin --temp 0 -n 4 the)"
	same "$(infer-run -q -m m.gguf --tokenize --no-stdin the)" "$(infer-run -q --sandbox -m m.gguf.zst --tokenize --no-stdin the)"
	infer-inspect -v show m.gguf.zst 2>err >/dev/null
	[ ! -s err ]
}

@test "what is damaged, cut short or goes on is refused with one line" {
	head -c 20000 m.gguf.zst >cut.zst
	fails 3 'cut.zst: the compressed data ends inside a frame, at byte 20000$' infer-run -m cut.zst x
	fails 3 'cut.zst: the compressed data ends inside a frame, at byte 20000$' infer-inspect verify cut.zst
	fails 3 'cut.zst: the compressed data ends inside a frame, at byte 20000$' infer-bench run -m cut.zst
	cat m.gguf.zst m.gguf >more.zst
	fails 3 "more.zst: other data follows the compressed data, at byte $(stat -c %s m.gguf.zst)\$" infer-run -m more.zst x
	cat m.gguf.zst m.gguf.zst >twice.zst
	fails 3 'twice.zst: unpacks to more than the [0-9]* bytes of its header' infer-run -m twice.zst x
	cp m.gguf.zst flip.zst
	printf x | dd of=flip.zst bs=1 seek=9000 conv=notrunc status=none
	fails 3 'flip.zst: the compressed data is damaged: .*, at byte [0-9]*$' infer-run -m flip.zst x
	printf 'no model at all' >text
	zst text text.zst
	fails 3 'text.zst: not a model file, but text: it begins with "no model at all"$' infer-run -m text.zst x
	fails 1 'none.gguf.zst: No such file' infer-run -m none.gguf.zst x
	cp m.gguf plain.gguf.zst
	infer-run -q -m plain.gguf.zst --no-stdin -n 1 the
}

@test "a file that changes while its model is in use ends the run, though it was unpacked" {
	cp m.gguf.zst w.zst
	mkfifo in
	infer-run -m w.zst -n 4 --json <in >out 2>err &
	pid=$!
	exec 9>in
	for _ in $(seq 600); do
		grep -q unpacked err && break
		sleep 0.05
	done
	printf x | dd of=w.zst bs=1 seek=50 conv=notrunc status=none
	echo the >&9
	exec 9>&-
	rc=0
	wait $pid || rc=$?
	same 1 "$rc"
	same 'infer-run: error: w.zst was modified while it was in use' "$(tail -n 1 err)"
	[ ! -s out ]
}

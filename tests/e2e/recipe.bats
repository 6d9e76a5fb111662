# infer-quant --recipe, infer-recipe(5)
load lib

setup_more()
{
	export F32=$BATS_FILE_TMPDIR/f32.gguf IMATRIX=$BATS_FILE_TMPDIR/importances
	mkmodel --embd 256 --ff 512 --vocab 512 "$F32"
	seq 60 | sed 's/.*/the of and/' >text
	infer-quant imatrix -m "$F32" -c 64 -f text --out "$IMATRIX"
}

recipe() { printf 'infer-recipe: 1\n%b' "$1" >r.yaml; }

@test "a recipe that was saved writes the same bytes, and saves itself" {
	cp "$IMATRIX" i
	infer-quant --type q4_k_m --imatrix i --keep 'ffn_down=Q6_K' --keep "it's|^output\\.=Q8_0" --save-recipe a.yaml "$F32" a.gguf
	infer-quant -t 2 --recipe a.yaml --save-recipe b.yaml "$F32" b.gguf
	cmp a.gguf b.gguf
	cmp a.yaml b.yaml
	grep -qx "  sha256: '$(sha256sum i | cut -c1-64)'" a.yaml
	# the matrix has moved: what is written is what the recipe says
	mv i j
	fails 1 'i: ' infer-quant --recipe a.yaml "$F32" c.gguf
	infer-quant --recipe a.yaml --imatrix j "$F32" c.gguf
	cmp a.gguf c.gguf
	# without one, a matrix of the options comes into the recipe
	infer-quant --type Q4_K --save-recipe plain.yaml "$F32" d.gguf
	infer-quant --recipe plain.yaml --imatrix j --save-recipe e.yaml "$F32" e.gguf
	infer-quant --type Q4_K --imatrix j "$F32" f.gguf
	cmp e.gguf f.gguf
	grep -qx "  file: 'j'" e.yaml
	# a report says the patterns of the recipe
	infer-quant --recipe plain.yaml "$F32" --report -f "$BATS_FILE_TMPDIR/text" -c 16 p.gguf >/dev/null
	infer-quant --recipe a.yaml --imatrix j "$F32" --report -f "$BATS_FILE_TMPDIR/text" -c 16 q.gguf >/dev/null
	infer-inspect --json --all q.gguf | grep '"infer.quant.keep"' | grep -qF '["ffn_down=Q6_K","it'"'"'s|^output\\.=Q8_0"]'
	same 0 "$(infer-inspect --json --all p.gguf | grep -c '"infer.quant.keep"')"
	# nothing is written but the recipe
	infer-quant --dry-run --type Q4_K --save-recipe g.yaml "$F32" h.gguf >/dev/null
	cmp plain.yaml g.yaml
	[ ! -e h.gguf ]
}

@test "what is wrong in a recipe is named with its place, and nothing is written" {
	wrong() { fails "$1" "$2" infer-quant --recipe r.yaml "$F32" x.gguf && [ ! -e x.gguf ]; }
	recipe 'typ: Q4_K\n'
	wrong 3 "r.yaml: line 2, column 1: 'typ' is not a key here"
	recipe 'type: Q9\n'
	wrong 3 "r.yaml: line 2, column 7: 'Q9' is not a type or mix"
	recipe 'type: q4_km\n'
	wrong 3 "r.yaml: line 2, column 7: 'q4_km' is not a type or mix; did you mean Q4_K_M\?\$"
	recipe 'type: Q4_K\ntensors:\n  ffn_: Q9\n'
	wrong 3 "r.yaml: line 4, column 9: 'Q9' is not a type"
	recipe 'type: Q4_K\ntensors:\n  ffn_: Q8_0\n  ffn_down: Q6_K\n'
	wrong 3 "r.yaml: line 5, column 3: 'ffn_down': matches no tensor that is quantised"
	recipe 'type: Q4_K\ntensors:\n  "a(": Q8_0\n'
	wrong 3 "r.yaml: line 4, column 3: 'a\\(': byte 2 of the pattern: "
	recipe 'type: Q4_K\ntensors:\n  ((.+)+)+[!?]: Q8_0\n'
	wrong 3 "r.yaml: line 4, column 3: .*: matching the pattern"
	recipe "type: Q4_K\\nimatrix:\\n  file: '$IMATRIX'\\n  sha256: $(printf '0%.0s' {1..64})\\n"
	wrong 3 'r.yaml: line 5, column 11: .*importances has another SHA-256'
	recipe 'type: Q4_K\nmethod: luck\n'
	wrong 3 "r.yaml: line 3, column 9: 'luck' is not a method"
	printf 'infer-recipe: 9\n' >r.yaml
	wrong 3 'r.yaml: line 1, column 15: version 9 of recipes is not supported'
	recipe 'type: &a Q4_K\n'
	wrong 3 'r.yaml: line 2, column 7: anchors are not supported'
	recipe 'type: IQ2_XS\n'
	wrong 2 'needs importances'
	fails 1 'no.yaml: No such file' infer-quant --recipe no.yaml "$F32" x.gguf
	recipe 'type: Q4_K\n'
	fails 2 '--recipe cannot be combined' infer-quant --recipe r.yaml --type Q4_K "$F32" x.gguf
	fails 2 '--recipe cannot be combined' infer-quant --recipe r.yaml --keep a=Q4_K "$F32" x.gguf
	fails 2 'a copy has no recipe' infer-quant --copy --save-recipe s.yaml "$F32" x.gguf
	fails 2 'do not go with eval' infer-quant eval -m "$F32" -f r.yaml --recipe r.yaml
}

@test "types for a size: never more, nearly as much, the same bytes from any number of threads and from the recipe" {
	mkmodel --embd 256 --ff 256 --vocab 512 --layers 1 small.gguf
	aimed() { infer-quant -f "$BATS_FILE_TMPDIR/text" -c 16 --keep 'attn_k=Q8_0' "$@"; }
	aimed --bpw 4.5 -t 1 --save-recipe a.yaml small.gguf a.gguf
	same Q8_0 "$(infer-inspect tensors a.gguf | awk '$NF == "blk.0.attn_k.weight" { print $4 }')"
	infer-quant --recipe a.yaml --dry-run --save-recipe b.yaml small.gguf >table
	cmp a.yaml b.yaml
	awk '/^weights/ { exit !($4 <= 4.5 && $4 >= 4.5 * 0.995) }' table
	infer-quant --recipe a.yaml small.gguf c.gguf
	cmp a.gguf c.gguf
	# the same in a recipe that leaves the types open; of a file, all bytes count
	grep -vE '^type:|^ ' a.yaml | sed "s/^target:/&\n  bpw: 4.5/; s/^tensors:/&\n  attn_k: Q8_0/; /^calibration/d" >open.yaml
	infer-quant -t 2 --recipe open.yaml -f "$BATS_FILE_TMPDIR/text" -c 16 small.gguf d.gguf
	cmp a.gguf d.gguf
	size=$(($(stat -c %s a.gguf) * 3 / 4))
	aimed --max-bytes $size small.gguf e.gguf
	[ "$(stat -c %s e.gguf)" -le $size ]
	[ "$(stat -c %s e.gguf)" -ge $((size - size / 200)) ]
	# where the nearest type loses nothing another one says what a matrix matters
	infer-quant -q --type Q8_0 --keep .=Q8_0 small.gguf q8.gguf
	infer-quant -q --type F32 q8.gguf f32.gguf
	aimed --bpw 8.3 f32.gguf g.gguf
	same 0 "$(infer-inspect tensors g.gguf | grep -cE ' (I?Q[23]_|IQ4_XS)')"
}

@test "without a text a size is aimed at with a built-in one, which is said" {
	mkmodel --embd 256 --ff 256 --vocab 512 --layers 1 small.gguf
	infer-quant --bpw 9 -c 16 small.gguf a.gguf --save-recipe a.yaml 2>err
	same 'infer-quant: warning: no -f TEXT: types are chosen by measuring on a built-in text of 9 KB' "$(grep text err)"
	infer-quant -q --bpw 9 -c 16 -t 2 -f "$TOP/cmd/infer-quant/sample.txt" small.gguf b.gguf 2>err
	[ ! -s err ]
	cmp a.gguf b.gguf
	same "$(sha256sum <"$TOP/cmd/infer-quant/sample.txt" | cut -d ' ' -f 1)" "$(sed -n 's/.*sha256: //p' a.yaml | tr -d "'")"
	# a recipe with a target does the same
	recipe 'target: {bpw: 9}\n'
	infer-quant -q --recipe r.yaml -c 16 small.gguf c.gguf
	cmp a.gguf c.gguf
}

@test "a size that cannot be aimed at is refused" {
	small() { infer-quant "$@" small.gguf x.gguf; }
	mkmodel --embd 256 --ff 256 --vocab 512 --layers 1 small.gguf
	f="-f $BATS_FILE_TMPDIR/text -c 16"
	fails 2 '1 bits per weight are too few: the model needs at least 8\.5' small --bpw 1 --keep .=Q8_0 $f
	fails 2 '10 bytes are too few for the file: it needs at least [0-9]{6}$' small --max-bytes 10 --keep .=Q8_0 $f
	fails 2 'GPTQ needs a text' small --bpw 4 --method gptq
	fails 2 'exclude each other' small --bpw 4 --max-bytes 5 $f
	fails 2 'not --type, --copy or --merge' small --bpw 4 --type Q4_K $f
	fails 2 'report would measure on the text' small --bpw 4 --report $f
	fails 2 'matches no tensor that is quantised' small --bpw 4 --keep nope=Q8_0 $f
	fails 2 'two windows of' small --bpw 4 -f "$BATS_FILE_TMPDIR/text" -c 200
	recipe 'target: {bpw: 4}\ntensors: {nope: F16}\n'
	fails 3 "r.yaml: line 3, column 11: 'nope': matches no tensor" small --recipe r.yaml $f
	recipe 'target: {bpw: 4}\nmethod: gptq\n'
	fails 2 'GPTQ needs a text' small --recipe r.yaml
	recipe "target: {bpw: 4}\\ncalibration: {sha256: $(printf '0%.0s' {1..64})}\\n"
	fails 3 'r.yaml: line 3, column 23: the text has another SHA-256' small --recipe r.yaml $f
	recipe 'type: Q4_K\n'
	fails 2 'r.yaml sets all types' small --recipe r.yaml $f
	[ ! -e x.gguf ]
}

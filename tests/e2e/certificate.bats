# infer-quant --report and eval --into: what a model lost, kept in its file
load lib

setup_more()
{
	export F16=$BATS_FILE_TMPDIR/f16.gguf TEXT=$BATS_FILE_TMPDIR/text WANT=$BATS_FILE_TMPDIR/want.gguf PLAIN=$BATS_FILE_TMPDIR/plain.gguf
	mkmodel --embd 256 --ff 512 --vocab 512 --type f16 "$F16"
	infer-run -m "$F16" -n 200 --raw --temp 1 --seed 5 --ignore-eos --no-stdin the >"$TEXT"
	infer-quant --type Q4_K_M "$F16" "$PLAIN"
	infer-quant --type Q4_K_M --report -f "$TEXT" -c 32 "$F16" "$WANT" >"$BATS_FILE_TMPDIR/table"
}

tensors_of() { infer-inspect tensors --json "$1" | sed 's/"offset_bytes":[0-9]*//'; }
meta() { infer-inspect --json --all "$1" | grep "\"$2\"" | json value; }
# nothing but the files named is here
only() { same "$(printf '%s\n' "$@" | sort)" "$(ls)"; }

@test "--report: the table of eval, its figures in the file, and the tensors that they are of" {
	infer-quant eval -m "$PLAIN" --ref "$F16" -f "$TEXT" -c 32 >table
	cmp table "$BATS_FILE_TMPDIR/table"
	infer-quant eval -m "$PLAIN" --ref "$F16" -f "$TEXT" -c 32 --json >record
	same "[$(json perplexity.value <record),$(json perplexity.se <record)]" "$(meta "$WANT" infer.quant.eval.perplexity)"
	for k in mean median p90 p99; do
		same "[$(json kl.$k.value <record),$(json kl.$k.lo <record),$(json kl.$k.hi <record)]" "$(meta "$WANT" infer.quant.eval.kl.$k)"
	done
	same "$(json kl.max <record)" "$(meta "$WANT" infer.quant.eval.kl.max)"
	for k in 1 5; do
		same "[$(json same_top$k.value <record),$(json same_top$k.lo <record),$(json same_top$k.hi <record)]" "$(meta "$WANT" infer.quant.eval.top$k)"
	done
	same "$(json sha256 <record)" "$(meta "$WANT" infer.quant.eval.text.sha256)"
	# the file with its last newline, which is no part of what is measured
	same x "$(tail -c 1 "$TEXT" | tr -d '\n')x"
	same "$(sha256sum <"$TEXT" | cut -c1-64)" "$(meta "$WANT" infer.quant.eval.text.sha256)"
	same "$(stat -c %s "$TEXT")" "$(meta "$WANT" infer.quant.eval.text.bytes)"
	printf 'the of and\n\n' >more
	infer-quant eval -m "$PLAIN" -f "$TEXT" -f more -f - -c 32 --json <more >several
	same "$(cat "$TEXT" more more | sha256sum | cut -c1-64)" "$(json sha256 <several)"
	same "$(json ref.id <record)" "$(meta "$WANT" infer.quant.eval.reference.id)"
	same "$(json run.kv_type <record) $(json run.act_type <record)" "$(meta "$WANT" infer.quant.eval.kv_type) $(meta "$WANT" infer.quant.eval.act_type)"
	same Q4_K_M "$(meta "$WANT" infer.quant.type)"
	same "$(tensors_of "$PLAIN")" "$(tensors_of "$WANT")"
	infer-inspect verify "$WANT" >/dev/null
	same "$(infer-run -q -m "$PLAIN" --temp 0 -n 8 --no-stdin the)" "$(infer-run -q -m "$WANT" --temp 0 -n 8 --no-stdin the)"
}

@test "show says what was lost and against what; diff passes over it; a model quantised again has nothing of it" {
	infer-inspect show "$WANT" >shown
	grep -qx 'quantised  Q4_K_M' shown
	grep -q "^measured   perplexity .* on $(meta "$WANT" infer.quant.eval.text.bytes) bytes, $(meta "$WANT" infer.quant.eval.text.sha256 | cut -c1-12)\$" shown
	grep -q "^against    $(meta "$WANT" infer.quant.eval.reference.id | cut -c1-12), perplexity" shown
	grep -qE '^lost       divergence [0-9.e-]+ \([-0-9.e]+ \.\.\. [0-9.e-]+\)$' shown
	grep -E '^(quantised|measured|against|lost|  )' shown | awk 'length > 79 { print; wide = 1 } END { exit wide }'
	run ! grep -E '^(quantised|measured|against|lost)' <(infer-inspect show "$PLAIN")
	infer-inspect diff "$PLAIN" "$WANT" >differences
	grep -q '^not compared: [0-9]* keys' differences
	infer-inspect diff --json "$WANT" "$PLAIN" >records
	same 0 "$(json differences <records)"
	same "$(infer-inspect --json "$WANT" | grep -c '"infer.quant')" "$(json metas_passed <records)"
	infer-quant -q --type Q4_0 "$WANT" again.gguf
	run ! grep infer.quant <(infer-inspect --json again.gguf)
	infer-quant --copy "$WANT" copy.gguf
	cmp copy.gguf "$WANT"
	# two doubles that say they are four floats are not believed
	perl -0777 -pe 's/(infer\.quant\.eval\.perplexity\x09\0\0\0)\x0c\0\0\0\x02/$1\x06\0\0\0\x04/s' "$WANT" >odd.gguf
	run ! cmp -s odd.gguf "$WANT"
	infer-inspect show odd.gguf >shown
	grep -q '^quantised' shown
	run ! grep -E '^(measured|against|lost)' shown
}

@test "--into: the same figures give the same file, others take their place; modes and links stay" {
	cp "$PLAIN" a.gguf
	chmod 640 a.gguf
	ln -s a.gguf link.gguf
	infer-quant eval -m link.gguf --ref "$F16" -f "$TEXT" -c 32 --into link.gguf >/dev/null
	[ -L link.gguf ]
	same 640 "$(stat -c %a a.gguf)"
	sha256sum <a.gguf >once
	infer-quant eval -m a.gguf --ref "$F16" -f "$TEXT" -c 32 --into a.gguf >/dev/null
	sha256sum <a.gguf | cmp - once
	# with the recipe before them they are the bytes of --report
	infer-quant eval -m "$WANT" --ref "$F16" -f "$TEXT" -c 32 >/dev/null
	cp "$WANT" b.gguf
	infer-quant eval -m b.gguf -f "$TEXT" -c 16 --into b.gguf >/dev/null
	same 16 "$(meta b.gguf infer.quant.eval.window)"
	run ! grep infer.quant.eval.kl <(infer-inspect --json b.gguf)
	same Q4_K_M "$(meta b.gguf infer.quant.type)"
	infer-quant eval -m b.gguf --ref "$F16" -f "$TEXT" -c 32 --into b.gguf >/dev/null
	cmp b.gguf "$WANT"
	same "$(tensors_of a.gguf)" "$(tensors_of b.gguf)"
	only a.gguf b.gguf link.gguf once
}

@test "the files of a split model: the first one gets them, with patterns and importances" {
	infer-quant imatrix -q -m "$F16" -c 32 -f "$TEXT" --out im
	infer-quant --type Q4_K_S --keep '^output=Q8_0' --keep ffn_up=Q5_K --imatrix im --split-max-size 300K --report -f "$TEXT" -c 32 "$F16" s.gguf >/dev/null
	infer-quant --type Q4_K_S --keep '^output=Q8_0' --keep ffn_up=Q5_K --imatrix im --split-max-size 300K "$F16" p.gguf
	n=$(ls p-*.gguf | wc -l)
	[ "$n" -gt 2 ]
	run ! cmp -s s-00001-of-*.gguf p-00001-of-*.gguf
	for f in p-*.gguf; do [ "${f#p-00001}" != "$f" ] || cmp "$f" "s${f#p}"; done
	same "$(tensors_of p-00001-of-*)" "$(tensors_of s-00001-of-*)"
	same '["^output=Q8_0","ffn_up=Q5_K"]' "$(meta s-00001-of-* infer.quant.keep)"
	same 64 "$(printf %s "$(meta s-00001-of-* infer.quant.imatrix.sha256)" | wc -c)"
	infer-inspect s-00002-of-* | grep -q '^quantised  Q4_K_S, importances [0-9a-f]\{12\}, ^output=Q8_0, ffn_up=Q5_K$'
	infer-inspect verify s-00001-of-* >/dev/null
	infer-quant eval -m s-00001-of-* -f "$TEXT" -c 16 --into s-00003-of-* >/dev/null
	same 16 "$(meta s-00001-of-* infer.quant.eval.window)"
}

@test "what cannot take figures is refused by name, before the work, and stays as it is" {
	cp "$PLAIN" a.gguf
	fails 2 '\-\-into .*f16.gguf: is not the model that is measured' infer-quant eval -m a.gguf -f "$TEXT" -c 32 --into "$F16"
	infer-quant --copy --zstd a.gguf a.gguf.zst
	fails 3 'a.gguf.zst: is compressed' infer-quant eval -m a.gguf -f "$TEXT" -c 32 --into a.gguf.zst
	fails 2 'demo: is not a file' infer-quant eval -m demo -f "$TEXT" -c 32 --into demo
	fails 1 'nosuch' infer-quant eval -m a.gguf -f "$TEXT" -c 32 --into nosuch
	echo '{"prompt":"a","choices":["b"],"answer":0}' >q
	fails 2 '\-\-into goes with -f only' infer-quant eval -m a.gguf --choices q --into a.gguf
	fails 2 '\-\-report measures on a text' infer-quant --type Q8_0 --report "$F16" x.gguf
	for o in --copy '--type Q8_0 --zstd' '--type Q8_0 --dry-run'; do
		# shellcheck disable=SC2086
		fails 2 '\-\-report measures a file that is written' infer-quant $o --report -f "$TEXT" "$F16" x.gguf
	done
	fails 1 'nosuch: No such file' infer-quant --type Q8_0 --report -f nosuch "$F16" x.gguf
	fails 2 'go with eval and imatrix only' infer-quant --type Q8_0 -f "$TEXT" "$F16" x.gguf
	fails 1 'a.gguf.*: writing: File too large' bash -c 'ulimit -f 100; exec 3>&1 >/dev/null; infer-quant eval -m a.gguf -f "$1" -c 32 --into a.gguf' bash "$TEXT"
	cmp a.gguf "$PLAIN"
	only a.gguf a.gguf.zst q out err
}

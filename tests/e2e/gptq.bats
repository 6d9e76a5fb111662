# infer-quant --method gptq
load lib

setup_more()
{
	export MANY=$BATS_FILE_TMPDIR/many.gguf F32=$BATS_FILE_TMPDIR/f32.gguf TEXT=$BATS_FILE_TMPDIR/text MOE=$BATS_FILE_TMPDIR/moe.gguf
	mkmodel "$F32"
	mkmodel --arch qwen3moe --experts 4 --experts-used 2 "$MOE"
	mkmodel --arch qwen3moe --experts 24 --experts-used 2 "$MANY"
	seq 40 | sed 's/.*/the of and on a day the fox &/' >"$TEXT"
}

gptq() { infer-quant --method gptq -f "$TEXT" -c 32 "$@"; }
none() { [ ! -e "$1" ] && [ ! -e "$1.part" ] && [ ! -e "$1.resume" ]; }

@test "gptq: the same bytes for any threads and steps, others than those of the search, and less is lost on the text" {
	gptq -q -t 1 --type Q3_K "$F32" 1.gguf
	gptq -q -t 2 --prefill-chunk 7 --type Q3_K "$F32" 2.gguf
	gptq -q -t 3 --verify --type Q3_K --json "$F32" 3.gguf >records
	cmp 1.gguf 2.gguf
	cmp 1.gguf 3.gguf
	infer-quant -q --method search --type Q3_K "$F32" s.gguf
	infer-quant -q --type Q3_K "$F32" default.gguf
	cmp s.gguf default.gguf
	same "$(infer-inspect tensors s.gguf | awk 'NR > 1 { print $4, $NF }')" "$(infer-inspect tensors 1.gguf | awk 'NR > 1 { print $4, $NF }')"
	lost() { infer-quant eval -m "$1" --ref "$F32" -f "$TEXT" -c 32 --json | json kl.mean.value; }
	awk -v g="$(lost 1.gguf)" -v s="$(lost s.gguf)" 'BEGIN { exit !(g > 0 && g < 0.9 * s) }'
	same gptq "$(tail -1 records | json method)"
	same 14 "$(tail -1 records | json gptq)"
	same 14 "$(grep -c '"gptq":true' records)"
	[[ $(tail -1 records | json core) =~ ^[A-Za-z0-9_]+$ ]]
	same 64 "$(tail -1 records | json text_sha256 | awk '{ print length }')"
	infer-inspect verify 1.gguf >/dev/null
}

@test "gptq: every expert has its own Hessian; one that is never chosen is said" {
	gptq -v --type Q4_0 "$MOE" a.gguf 2>err
	grep -qE 'pass 1 over [0-9]+ windows of 32 tokens' err
	infer-quant -q --type Q4_0 "$MOE" s.gguf
	! cmp -s a.gguf s.gguf
	infer-quant --method gptq -f <(head -c 30 "$TEXT") -c 4 --type Q4_0 "$MANY" b.gguf 2>err
	[ "$(grep -c 'experts that no token of the text chooses' err)" = 1 ]
}

@test "gptq: a run that was killed is continued, and the result is the same; another text begins anew" {
	mkmodel --embd 256 --ff 256 --vocab 512 model.gguf
	infer-quant -q -t 1 --method gptq -f "$TEXT" -c 128 --type Q4_0 model.gguf whole.gguf
	stopped()
	{
		rm -f got.gguf
		infer-quant -q -t 1 --method gptq -f "$TEXT" -c 128 --type Q4_0 model.gguf got.gguf &
		for _ in $(seq 2000); do
			[ "$(wc -l 2>/dev/null <got.gguf.resume)" -ge 2 ] 2>/dev/null && break
			sleep 0.01
		done
		kill -9 $! || true
		wait $! || true
	}
	stopped
	infer-quant -q -t 2 --method gptq -f "$TEXT" -c 128 --type Q4_0 model.gguf got.gguf
	cmp whole.gguf got.gguf
	stopped
	if [ -e got.gguf.resume ]; then
		head -c 900 "$TEXT" >less
		infer-quant -q --method gptq -f less -c 128 --type Q4_0 --json model.gguf got.gguf | tail -1 | json resumed_bytes | grep -qx 0
		! cmp -s whole.gguf got.gguf
	fi
	none whole.gguf.part
}

@test "gptq: what is asked wrongly" {
	for t in Q6_K Q8_0 F16; do
		fails 2 "types of up to 5 bits, not to $t" gptq --type $t "$F32" x.gguf
	done
	fails 2 'f TEXT' infer-quant --method gptq --type Q4_0 "$F32" x.gguf
	fails 2 "search, rtn or gptq, not 'best'" infer-quant --method best --type Q4_0 "$F32" x.gguf
	fails 2 'goes with --type, --max-bytes and --bpw only' infer-quant --method gptq -f "$TEXT" --copy "$F32" x.gguf
	fails 2 'go with eval and imatrix only' infer-quant --method search -f "$TEXT" --type Q4_0 "$F32" x.gguf
	fails 2 'do not go with eval' infer-quant eval --method gptq -m "$F32" -f "$TEXT"
	fails 2 'a window has 512' infer-quant --method gptq -f <(head -c 300 "$TEXT") --type Q4_0 "$F32" x.gguf
	: >empty
	fails 2 'empty: is empty' infer-quant --method gptq -f empty --type Q4_0 "$F32" x.gguf
	fails 1 'nosuch' infer-quant --method gptq -f nosuch --type Q4_0 "$F32" x.gguf
	fails 2 'nothing to do' gptq --type Q4_0 --keep .=Q8_0 "$F32" x.gguf
	fails 2 'report would measure on the text of GPTQ' gptq --type Q4_0 --report "$F32" x.gguf
	fails 2 'calibration goes with the method gptq and with a target size' infer-quant --type Q4_0 --calibration "$TEXT" -f "$TEXT" --report "$F32" x.gguf
	none x.gguf
}

@test "gptq: a recipe with it, as a whole and for a pattern, gives the same bytes, and only with the same text" {
	gptq -q --type Q4_0 --save-recipe a.yaml "$F32" a.gguf
	grep -qx "  sha256: '$(head -c -1 "$TEXT" | sha256sum | cut -c1-64)'" a.yaml
	infer-quant -q -t 2 -f "$TEXT" --recipe a.yaml --save-recipe b.yaml "$F32" b.gguf
	cmp a.gguf b.gguf
	cmp a.yaml b.yaml
	recipe() { infer-quant --recipe "$@" "$F32" x.gguf; }
	head -c 900 "$TEXT" >less
	fails 3 'a.yaml: line 5, column 11: the text has another SHA-256' recipe a.yaml -f less
	fails 3 'a.yaml: line 5, column 11: the text has windows of another size' recipe a.yaml -f "$TEXT" -c 64
	fails 3 'a.yaml: line 5, column 11: the cache has another type' recipe a.yaml -f "$TEXT" --kv-type f32
	fails 2 'inputs of the weights: -f TEXT' recipe a.yaml
	sed "s/core: .*/core: other/" a.yaml >c.yaml
	recipe c.yaml -f "$TEXT" 2>err
	grep -q 'another kind of processor' err
	cmp a.gguf x.gguf
	rm x.gguf
	printf 'infer-recipe: 1\ntype: Q4_0\ntensors:\n  ffn_up: {type: Q5_0, method: gptq}\n  attn_k: {type: Q4_0, method: rtn}\n' >p.yaml
	infer-quant -q --recipe p.yaml -f "$TEXT" -c 32 --json "$F32" p.gguf >records
	same 2 "$(tail -1 records | json gptq)"
	same 2 "$(grep -c '"plain":true' records)"
	sed s/Q5_0/Q8_0/ p.yaml >q.yaml
	fails 3 "q.yaml: line 4, column 3: 'ffn_up': GPTQ rounds to types of up to 5 bits, not to Q8_0" recipe q.yaml -f "$TEXT" -c 32
	sed s/ffn_up/token_embd/ p.yaml >q.yaml
	fails 3 "'token_embd': GPTQ does not round token_embd.weight" recipe q.yaml -f "$TEXT" -c 32
	# the certificate names the text that was calibrated on, and is measured on another
	infer-quant -q --recipe p.yaml --calibration "$TEXT" -f less --report -c 32 "$F32" q.gguf >/dev/null
	infer-inspect --json --all q.gguf >keys
	grep '"infer.quant.gptq.text.sha256"' keys | grep -q "$(sha256sum "$TEXT" | cut -c1-64)"
	grep '"infer.quant.eval.text.sha256"' keys | grep -q "$(sha256sum less | cut -c1-64)"
	grep '"infer.quant.recipe"' keys | grep -qF 'method: gptq'
}

@test "gptq: with types for a size, too" {
	gptq -q --bpw 5 --save-recipe s.yaml "$F32" s.gguf
	infer-quant -q -f "$TEXT" --recipe s.yaml "$F32" t.gguf
	cmp s.gguf t.gguf
	grep -qx 'method: gptq' s.yaml
}

@test "rtn: without a search; in a recipe, too" {
	infer-quant -q --method rtn --type Q4_K --save-recipe r.yaml --json "$F32" r.gguf >records
	same rtn "$(tail -1 records | json method)"
	infer-quant -q --recipe r.yaml "$F32" s.gguf
	cmp r.gguf s.gguf
	infer-quant -q --type Q4_K "$F32" t.gguf
	! cmp -s r.gguf t.gguf
	infer-quant -q --method rtn --type Q4_K --report -f "$TEXT" -c 32 "$F32" u.gguf >/dev/null
	infer-inspect show --all u.gguf | grep -qE '^infer.quant.method +string +rtn'
}

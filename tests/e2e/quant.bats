# infer-quant
load lib

setup_more()
{
	export F32=$BATS_FILE_TMPDIR/f32.gguf F16=$BATS_FILE_TMPDIR/f16.gguf BIG=$BATS_FILE_TMPDIR/big.gguf WANT=$BATS_FILE_TMPDIR/want.gguf
	mkmodel --embd 256 --ff 512 --layers 1 --vocab 512 "$F32"
	mkmodel --embd 256 --ff 512 --vocab 512 --type f16 "$F16"
	# long enough to be stopped in the middle, and of a program with sanitizers no longer
	wide=$((${SAN:+-256} + 768))
	mkmodel --embd $wide --ff $((4 * wide)) --heads 8 --kv-heads 2 --layers 2 --vocab $((4 * wide)) --type f16 "$BIG"
	infer-quant --type Q4_K_M "$BIG" "$WANT"
}

types() { infer-inspect tensors "$1" | awk 'NR > 1 { print $NF, $4 }'; }
type_of() { types "$1" | awk -v n="$2" '$1 == n { print $2 }'; }
# the key and its value
meta() { infer-inspect --json --all "$1" | grep "\"$2\"" | json value; }
# only what is finished has the name
none() { [ ! -e "$1" ] && [ ! -e "$1.part" ] && [ ! -e "$1.resume" ]; }

@test "every type and every mix is written and read, with importances where it needs them; the key says which it is" {
	seq 60 | sed 's/.*/the of and/' >text
	infer-quant imatrix -m "$F32" -c 64 -f text --out importances
	for t in $(infer-quant --help=rows | awk -F'\t' '$4 == "--type" { print $6 }'); do
		rc=0
		infer-quant -q --type "$t" "$F32" "$t.gguf" 2>err || rc=$?
		if [ $rc = 2 ]; then
			grep -q 'needs importances' err
			none "$t.gguf"
			rc=0
			infer-quant -q --type "$t" --imatrix importances "$F32" "$t.gguf" || rc=$?
		fi
		[ $rc = 0 ]
		infer-run -q -m "$t.gguf" --temp 0 -n 4 --no-stdin the >out
		infer-inspect verify "$t.gguf" >/dev/null
		infer-inspect --json --all "$t.gguf" >all
		grep -q '"key":"general.quantization_version".*"value":2[,}]' all
		grep -q '"key":"general.file_type".*"value":[0-9]' all
	done
	same 7 "$(meta Q8_0.gguf general.file_type)"
	same 15 "$(meta Q4_K_M.gguf general.file_type)"
	same '12 15 17' "$(for t in 3 4 5; do meta Q${t}_K.gguf general.file_type; done | paste -sd ' ')"
	same Q6_K "$(type_of Q4_K_M.gguf output.weight)"
	same Q4_K "$(type_of Q4_K.gguf output.weight)"
	same Q4_K "$(type_of Q4_K_M.gguf blk.0.attn_q.weight)"
	same F32 "$(type_of Q4_K_M.gguf blk.0.attn_norm.weight)"
	fails 2 "'Q9' is not a type or mix" infer-quant --type Q9 "$F32" x.gguf
	for type in Q4_KM q4_km; do
		fails 2 "'$type' is not a type or mix; did you mean Q4_K_M\?\$" infer-quant --type $type "$F32" x.gguf
		fails 2 "'$type' is not a type or mix; did you mean Q4_K_M\?\$" infer-quant "$F32" x.gguf $type
	done
}

@test "metadata stays as it is, in its order, but for what the recipe says" {
	infer-quant --type Q8_0 "$F32" a.gguf
	keys() { infer-inspect --json --all "$1" | grep '"kind":"meta"' | grep -vE 'file_type|quantization_version'; }
	same "$(keys "$F32")" "$(keys a.gguf)"
	same "$(types "$F32" | cut -d' ' -f1)" "$(types a.gguf | cut -d' ' -f1)"
	infer-quant --type Q4_0 a.gguf b.gguf 2>err
	grep -q 'are quantised already' err
	same "$(infer-inspect --json --all a.gguf | grep '"kind":"meta"' | json key)" "$(infer-inspect --json --all b.gguf | grep '"kind":"meta"' | json key)"
}

@test "neither the number of threads nor the kernel set changes a byte" {
	for t in 1 2 3; do infer-quant -t $t --type Q4_K_M "$F16" $t.gguf; done
	cmp 1.gguf 2.gguf
	cmp 1.gguf 3.gguf
	infer-quant --isa ref --type Q4_K_M "$F16" ref.gguf
	cmp 1.gguf ref.gguf
	INFER_ISA=mmx fails 2 "'mmx' is not a kernel set" infer-quant --type Q4_K_M "$F16" x.gguf
}

@test "--dry-run shows what is written, and writes nothing" {
	infer-quant --type Q4_K_M --dry-run "$F16" a.gguf >table
	none a.gguf
	infer-quant --type Q4_K_M "$F16" a.gguf
	same "$(awk '/weight$/ { print $NF, $4 }' table)" "$(types a.gguf | grep 'weight ')"
	same "$(awk '$1 == "files" { print $3 }' table)" "$(stat -c %s a.gguf)"
	infer-quant --type Q4_K_M --dry-run --json "$F16" >records
	same "$(grep '"tensor"' records | json to)" "$(types a.gguf | cut -d' ' -f2)"
	same "$(stat -c %s a.gguf)" "$(tail -1 records | json file_bytes)"
	# importances are asked for, not needed
	infer-quant --type IQ2_XXS --dry-run "$F16" >table
	fails 2 'blk.0.ffn_up.weight: weights are not written as I8$' infer-quant --type Q4_0 --keep ffn_up=I8 "$F16" a.gguf
}

@test "--keep: the first pattern that matches a part of a name" {
	infer-quant --type Q4_K_M --keep '^output=Q8_0' --keep 'blk\.0\..*ffn=f16' --keep 'ffn=Q5_K' "$F16" a.gguf
	same Q8_0 "$(type_of a.gguf output.weight)"
	same F16 "$(type_of a.gguf blk.0.ffn_up.weight)"
	same Q5_K "$(type_of a.gguf blk.1.ffn_up.weight)"
	infer-quant --type Q4_0 --keep .=Q4_0 "$F16" a.gguf
	same Q4_0 "$(type_of a.gguf output.weight)"
	fails 2 'must be PATTERN=TYPE' infer-quant --type Q4_0 --keep ffn "$F16" x.gguf
	fails 2 "'Q9' is not a type" infer-quant --type Q4_0 --keep ffn=Q9 "$F16" x.gguf
	# a pattern that is unanchored takes attn_output too: what is advised for the output matrix does not
	fails 2 'try --keep \^output=TYPE$' infer-quant --output-tensor-type q8_0 "$F16" x.gguf
	infer-quant --type Q4_0 --keep ^output=Q8_0 "$F16" b.gguf
	same Q8_0 "$(type_of b.gguf output.weight)"
	same Q4_0 "$(type_of b.gguf blk.0.attn_output.weight)"
	fails 2 'matches no tensor' infer-quant --type Q4_0 --keep ^output=Q8_0 demo x.gguf
	# the examples of -h are right for a model without an output matrix too
	keeps=$(infer-quant -h | sed -n 's/^  .*--keep \([^ ]*\) IN OUT.*/\1/p')
	[ -n "$keeps" ]
	for keep in $keeps ^token_embd=Q8_0; do
		infer-quant -q --type Q4_K --keep "$keep" --dry-run demo x.gguf >out
	done
	[ -s out ]
	fails 2 'byte 4 of the pattern' infer-quant --type Q4_0 --keep 'ffn(=Q8_0' "$F16" x.gguf
	fails 2 'matches no tensor that is quantised' infer-quant --type Q4_0 --keep nosuch=Q8_0 "$F16" x.gguf
	none x.gguf
}

@test "rows that are no whole blocks get another type, which is said once" {
	mkmodel --embd 96 --ff 160 --heads 3 --kv-heads 3 odd.gguf
	infer-quant --type Q4_K odd.gguf a.gguf 2>err
	same 1 "$(wc -l <err)"
	grep -q 'not whole blocks of their type' err
	same Q5_0 "$(type_of a.gguf blk.0.attn_q.weight)"
	infer-quant --type Q4_K --dry-run odd.gguf | grep -q 'Q5_0 !.*blk.0.attn_q.weight'
}

@test "--copy, --split-max-size: files of at most that size, and back to the same file" {
	infer-quant --copy "$F16" a.gguf
	cmp <(tail -c 100000 "$F16") <(tail -c 100000 a.gguf)
	infer-quant --copy --split-max-size 300K "$F16" s.gguf
	[ -e s-00001-of-*.gguf ] && [ ! -e s.gguf ]
	for f in s-*.gguf; do [ "$(stat -c %s "$f")" -le $((600 << 10)) ]; done
	[ "$(ls s-*.gguf | wc -l)" -gt 2 ]
	infer-quant --copy s-00001-of-*.gguf b.gguf
	infer-quant --merge s-00002-of-*.gguf m.gguf
	cmp b.gguf m.gguf
	fails 2 'm.gguf is one file already' infer-quant --merge m.gguf x.gguf
	fails 2 'not --split-max-size' infer-quant --merge --split-max-size 300K m.gguf x.gguf
	cmp a.gguf b.gguf
	same "$(infer-run -q -m a.gguf --temp 0 -n 8 --no-stdin the)" "$(infer-run -q -m s-00002-of-*.gguf --temp 0 -n 8 --no-stdin the)"
	infer-quant --type Q4_K_M s-00001-of-*.gguf c.gguf
	infer-quant --type Q4_K_M a.gguf d.gguf
	cmp c.gguf d.gguf
	fails 2 'go with --type only' infer-quant --copy --keep ffn=Q8_0 "$F16" x.gguf
	fails 2 'exclude each other' infer-quant --copy --type Q8_0 "$F16" x.gguf
	fails 2 'what to write is missing: --type TYPE' infer-quant "$F16" x.gguf
	fails 2 'what to write is missing' infer-quant
	# the order of llama-quantize
	fails 2 "try infer-quant --type Q4_K_M $F16 x.gguf\$" infer-quant "$F16" x.gguf Q4_K_M
	fails 2 "try infer-quant --type q8_0 $F16 x.gguf\$" infer-quant "$F16" x.gguf q8_0 4
	fails 2 "try infer-quant --type Q8_0 $F16 OUT\$" infer-quant "$F16" Q8_0
	fails 2 "try infer-quant --copy $F16 x.gguf\$" infer-quant "$F16" x.gguf COPY
	# a file of that name could not be opened by it
	fails 2 "OUT must be a file, and -m demo is another model: try ./demo\$" infer-quant -q --type Q4_0 demo demo
	fails 2 'try ./hf:org/repo$' infer-quant -q --copy demo hf:org/repo
	infer-quant -q --dry-run --type Q4_0 demo
	[ ! -e demo ]
	# the type first, and one that there is not
	fails 2 "try infer-quant --type Q4_K_M $F16 x.gguf\$" infer-quant Q4_K_M "$F16" x.gguf
	fails 2 "try infer-quant --type Q4_K_M $F16 OUT\$" infer-quant Q4_K_M "$F16"
	fails 2 "'Q9_X' is not a type or mix; the manual of infer-quant lists them" infer-quant Q9_X "$F16" x.gguf
	fails 2 "'Q9_X' is not a type or mix; the manual" infer-quant "$F16" x.gguf Q9_X
	[ ! -e x.gguf ] && [ ! -e Q8_0 ]
}

@test "--verify reads it again; records have the errors" {
	infer-quant --type Q8_0 --verify --json "$F16" a.gguf >records
	infer-quant --type Q8_0 "$F16" b.gguf
	cmp a.gguf b.gguf
	grep '"output.weight"' records | json relative_error | awk '{ exit !($1 > 0 && $1 < 0.01) }'
	infer-quant --type Q4_0 --verify --json "$F16" a.gguf | grep '"output.weight"' | json relative_error | awk '{ exit !($1 < 0.1) }'
}

# LONG=1: killed at twenty points; else the runs end after a few
@test "a run that was killed is continued, whenever that was, and the result is the same" {
	killed=0 n=0
	while [ $n -lt 2 ] || [ -n "$LONG" -a $killed -lt 20 ]; do
		n=$((n + 1)) i=0
		[ $n -lt 40 ]
		while [ ! -e got.gguf ]; do
			rc=0
			timeout -s KILL "$(awk -v n=$n -v i=$i 'BEGIN { srand(n * 100 + i); print 0.02 + rand() * (0.8 + i) }')" infer-quant -t 1 --type Q4_K_M "$BIG" got.gguf 2>/dev/null || rc=$?
			[ $rc = 0 ] || killed=$((killed + 1))
			i=$((i + 1))
			[ $i -lt 60 ]
		done
		infer-quant --type Q4_K_M "$BIG" got.gguf
		cmp "$WANT" got.gguf
		[ ! -e got.gguf.part ] && [ ! -e got.gguf.resume ]
		rm got.gguf
	done
	echo "# killed $killed times in $n runs" >&3
}

# stopped with a line of how far it is
stopped()
{
	# a shell starts what is in the background with interrupts ignored; who waits for a point of its work comes before it
	perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' nice -n 19 infer-quant -t 1 --type Q4_K_M "$BIG" "$1" 2>err &
	# it marks how far it is once a second, and a quick machine needs no second for all: so it stands still for one
	for _ in $(seq 600); do
		[ -e "$1.resume" ] && break
		sleep 0.02
	done
	kill -STOP $! && sleep 1.1 && kill -CONT $!
	for _ in $(seq 600); do
		[ "$(wc -l 2>/dev/null <"$1.resume")" -ge 2 ] 2>/dev/null && break
		sleep 0.02
	done
	# on a loaded machine it may be done before this shell has its turn: once more
	kill "-$2" $! 2>/dev/null || {
		wait $!
		rm "$1"
		[ $((tries += 1)) -lt 10 ]
		stopped "$@"
		return
	}
	rc=0
	wait $! || rc=$?
}

@test "an interrupt ends it by the signal, what is done is kept, and another recipe begins anew" {
	infer-quant --type Q8_0 "$BIG" other.gguf
	for s in 2 15; do
		tries=0
		stopped got.gguf $s
		[ $rc = $((128 + s)) ]
		same 'infer-quant: stopped; the same command continues' "$(cat err)"
		[ ! -e got.gguf ] && [ -e got.gguf.part ]
		infer-quant --type Q4_K_M --json "$BIG" got.gguf >records
		[ "$(tail -1 records | json resumed_bytes)" -gt 0 ]
		cmp "$WANT" got.gguf
		rm got.gguf
	done
	stopped got.gguf TERM
	infer-quant --type Q8_0 --json "$BIG" got.gguf | tail -1 | json resumed_bytes | grep -qx 0
	cmp other.gguf got.gguf
	rm got.gguf
	stopped got.gguf TERM
	# the input is another one
	cp "$BIG" big.gguf
	infer-quant --type Q4_K_M --json big.gguf got.gguf | tail -1 | json resumed_bytes | grep -qx 0
	cmp "$WANT" got.gguf
	# a line that was torn counts for nothing
	rm got.gguf
	stopped got.gguf TERM
	printf '7 1' >>got.gguf.resume
	infer-quant --type Q4_K_M "$BIG" got.gguf
	cmp "$WANT" got.gguf
	# nor does a file that is not what it was
	rm got.gguf
	stopped got.gguf TERM
	truncate -s 1000 got.gguf.part
	infer-quant --type Q4_K_M "$BIG" got.gguf
	cmp "$WANT" got.gguf
}

@test "a disk that is full, a target that cannot be written, the input as the target" {
	cp "$F16" in.gguf
	fails 1 'a.gguf.part: cannot be written: File too large' bash -c 'ulimit -f 100; infer-quant --type Q8_0 "$1" a.gguf' bash "$F16"
	none a.gguf
	fails 2 'in.gguf: is the input' infer-quant --type Q8_0 in.gguf in.gguf
	ln in.gguf link.gguf
	fails 2 'link.gguf: is the input' infer-quant --type Q8_0 in.gguf link.gguf
	cmp in.gguf "$F16"
	seq 60 | sed 's/.*/the of and/' >text
	cp text same
	ln -s text link
	fails 2 'link is text, which is read' infer-quant imatrix -m in.gguf -c 64 -f text --out link
	fails 2 'in.gguf is in.gguf, which is read' infer-quant imatrix -m in.gguf -c 64 -f text --out in.gguf
	fails 2 '--record text is text, which is read' infer-quant eval -m in.gguf -c 64 -f text --record text
	fails 2 'text is link, which is read' infer-quant --type Q4_0 --method gptq -f link in.gguf text
	fails 2 '--save-recipe link.gguf is in.gguf, which is read' infer-quant --type Q4_0 --save-recipe link.gguf in.gguf a.gguf
	cmp text same
	cmp in.gguf "$F16"
	none a.gguf
	fails 1 'nosuch/a.gguf: No such file' infer-quant --type Q8_0 in.gguf nosuch/a.gguf
	mkdir d
	fails 1 'd: is not a regular file' infer-quant --type Q8_0 in.gguf d
	fails 1 '/dev/null: is not a regular file' infer-quant --type Q8_0 in.gguf /dev/null
	fails 1 'nosuch.gguf' infer-quant --type Q8_0 nosuch.gguf a.gguf
	echo notes >a.gguf.resume
	fails 1 'a.gguf.resume: is not a file of infer-quant, and not overwritten' infer-quant --type Q8_0 in.gguf a.gguf
	same notes "$(cat a.gguf.resume)"
	rm a.gguf.resume
	# what was there stays until the new one is whole
	echo old >a.gguf
	fails 1 'cannot be written' bash -c 'ulimit -f 100; infer-quant --type Q8_0 "$1" a.gguf' bash "$F16"
	same old "$(cat a.gguf)"
	infer-quant --type Q8_0 in.gguf a.gguf
	infer-inspect verify a.gguf >/dev/null
	fails 2 'IN OUT' infer-quant --type Q8_0 in.gguf
	fails 2 'two arguments' infer-quant --type Q8_0 in.gguf a b
}

@test "a link under the name of an unfinished file is removed, and what it leads to is not touched" {
	infer-quant --type Q8_0 "$F16" want.gguf
	infer-quant --type Q8_0 --zstd "$F16" want.gguf.zst
	whole() { # OUT: it is what it should be, and nothing else was written
		cmp "want.${1#*.}" "$1"
		[ ! -L "$1" ]
		same 1 "$(stat -c %h "$1")"
		cmp notes precious
		[ ! -e "$1.part" ] && [ ! -e "$1.part.zst" ] && [ ! -e "$1.resume" ] && [ ! -e nowhere ]
		rm "$1"
	}
	echo precious >notes
	cp notes precious
	for link in 'ln -s notes' 'ln notes' 'ln -s nowhere'; do
		$link a.gguf.part
		infer-quant --type Q8_0 "$F16" a.gguf
		whole a.gguf
		for name in part part.zst; do
			$link a.gguf.zst.$name
			infer-quant --type Q8_0 --zstd "$F16" a.gguf.zst
			whole a.gguf.zst
		done
	done
	seq 300 | sed 's/.*/the of and/' >text
	infer-quant imatrix -m "$F16" -c 64 -f text --out want.m
	for link in 'ln -s notes' 'ln notes' 'ln -s nowhere' 'ln -s want.m' mkfifo; do
		$link a.m.part
		infer-quant imatrix -m "$F16" -c 64 -f text --out a.m
		whole a.m
	done
	for name in a.gguf.part a.gguf.part.zst; do
		mkfifo $name
		fails 1 "$name: is not a regular file" infer-quant --type Q8_0 --zstd "$F16" a.gguf
		[ -p $name ]
		rm $name
		[ ! -e a.gguf ] && [ ! -e a.gguf.resume ]
	done
	# the marks of how far it is
	ln -s nowhere a.gguf.resume
	fails 1 'a.gguf.resume: is a link, and not overwritten' infer-quant --type Q8_0 "$F16" a.gguf
	[ -L a.gguf.resume ] && [ ! -e nowhere ]
	rm a.gguf.resume
	: >empty
	ln empty a.gguf.resume
	fails 1 'a.gguf.resume: has several names, and is not overwritten' infer-quant --type Q8_0 "$F16" a.gguf
	[ ! -s empty ] && [ ! -e a.gguf ]
}

@test "an unfinished file that has got another name is not continued" {
	# the second name keeps what it had; a link is no unfinished file either
	for link in 'ln got.gguf.part other' 'mv got.gguf.part other; ln -s other got.gguf.part'; do
		rm -f got.gguf other
		tries=0
		stopped got.gguf TERM
		eval "$link"
		before=$(cksum <other)
		infer-quant --type Q4_K_M "$BIG" got.gguf 2>err
		run ! grep -q continued err
		same "$before" "$(cksum <other)"
		cmp "$WANT" got.gguf
	done
}

@test "a file that is replaced keeps its mode and owner; a link stays one, and its target is written" {
	seq 300 | sed 's/.*/the of and/' >text
	infer-quant --type Q8_0 "$F16" want.gguf
	mkdir -p d/e
	writes() { # COMMAND...: it writes ./made
		rm -f made d/real d/e/link
		(umask 022; "$@" >/dev/null)
		same 644 "$(stat -c %a made)"
		for mode in 640 600 400; do
			echo old >made
			chmod $mode made
			if [ "$(id -u)" = 0 ]; then chown 1234:4321 made; fi
			"$@" >/dev/null
			same "$mode $(stat -c %u:%g made)" "$(stat -c %a made) $(if [ "$(id -u)" = 0 ]; then echo 1234:4321; else stat -c %u:%g .; fi)"
			[ "$(wc -c <made)" -gt 4 ]
		done
		# what runs nothing is not handed on
		chmod 4711 made
		"$@" >/dev/null
		same 711 "$(stat -c %a made)"
		# a link to a link, relative to where they are; of a file that is there, and of one that is not
		for there in yes no; do
			rm -f made d/real d/e/link
			ln -s d/e/link made
			ln -s ../real d/e/link
			if [ $there = yes ]; then
				echo old >d/real
				chmod 604 d/real
			fi
			"$@" >/dev/null
			[ -L made ] && [ -L d/e/link ] && [ ! -L d/real ]
			[ "$(wc -c <d/real)" -gt 4 ]
			[ $there = no ] || same 604 "$(stat -c %a d/real)"
			same 'link' "$(ls -A d/e)"
			same 'e real' "$(ls -A d | tr '\n' ' ' | sed 's/ $//')"
		done
	}
	writes infer-quant --type Q8_0 "$F16" made
	cmp made want.gguf
	writes infer-quant --type Q8_0 --zstd "$F16" made
	writes infer-quant imatrix -m "$F16" -c 64 -f text --out made
	writes infer-quant --type Q8_0 --dry-run --save-recipe made "$F16"
	writes infer-run --no-stdin -n 3 --out made the
	ln -sf nowhere made
	rm -f nowhere
	ln -s made loop && rm made && ln -s loop made
	fails 1 'made: Too many levels of symbolic links' infer-quant --type Q8_0 "$F16" made
	# the files of a split model, each by itself
	infer-quant --type Q8_0 --split-max-size 300K "$F16" b.gguf
	parts=(b-*.gguf)
	mkdir s
	mv "${parts[1]}" want.part
	echo old >s/real
	chmod 640 s/real "${parts[0]}"
	ln -s s/real "${parts[1]}"
	infer-quant --type Q8_0 --split-max-size 300K "$F16" b.gguf
	[ -L "${parts[1]}" ]
	cmp s/real want.part
	same '640 640' "$(stat -c %a s/real) $(stat -c %a "${parts[0]}")"
	infer-inspect verify "${parts[0]}" >/dev/null
}

@test "a file system without room, and one that is read-only: one line, and nothing is left" {
	mkdir m
	unshare -rm mount -t tmpfs -o size=64k none m 2>/dev/null || skip "needs the right to mount a file system, which this machine withholds"
	export PLACE=$PWD/m
	inside() { unshare -rm bash -c 'mount -t tmpfs -o "size=$1" none "$PLACE" && [ -z "$2" ] || mount -o "remount,$2" "$PLACE" && infer-quant --type Q8_0 "$F16" "$PLACE/a.gguf"; rc=$?; ls -A "$PLACE" >left; exit $rc' bash "$@"; }
	fails 1 'a.gguf.part: cannot be written: No space left on device' inside 64k ''
	[ ! -s left ]
	fails 1 'a.gguf: Read-only file system' inside 64m ro
	[ ! -s left ]
	inside 64m ''
	same a.gguf "$(cat left)"
}

@test "a weight that is not finite is named, and nothing is written" {
	at=$(infer-inspect tensors --json "$F32" | grep '"blk.0.ffn_up.weight"' | json offset_bytes)
	for bits in '\000\000\200\177' '\000\000\300\177'; do
		cp "$F32" bad.gguf
		printf "$bits" | dd of=bad.gguf bs=1 seek=$((at + 4 * 700)) conv=notrunc status=none
		fails 3 'tensor blk.0.ffn_up.weight: element 700 is not finite' infer-quant --type Q4_K bad.gguf a.gguf
		none a.gguf
	done
	# the engine sees no more than logits
	seq 60 | sed 's/.*/the of and/' >text
	for o in 'imatrix -m bad.gguf --out a.gguf' 'eval -m bad.gguf' '--type Q4_K --method gptq bad.gguf a.gguf'; do
		fails 3 "bad.gguf: tensor blk.0.ffn_up.weight: the F32 weight at byte $((at + 4 * 700)) is not finite" infer-quant $o -c 64 -f text
		none a.gguf
	done
	at=$(infer-inspect tensors --json "$F32" | grep '"blk.0.attn_norm.weight"' | json offset_bytes)
	cp "$F32" bad.gguf
	printf '\000\000\300\177' | dd of=bad.gguf bs=1 seek=$((at + 4 * 7)) conv=notrunc status=none
	fails 3 'tensor blk.0.attn_norm.weight: element 7 is not finite' infer-quant --type Q4_K bad.gguf a.gguf
	none a.gguf
}

@test "a file that was cut, shards of another model, a tensor that is missing: nothing is written" {
	size=$(stat -c %s "$F32")
	head -c $((size - 100)) "$F32" >cut.gguf
	bytes=$(infer-inspect tensors --json "$F32" | tail -n 1 | json size_bytes)
	# the last tensor ends with the file: where it begins is counted from the start of the file too
	fails 3 "cut.gguf: tensor output.weight: $bytes bytes at byte $((size - bytes)): the file ends before them, after $((size - 100)) bytes\$" infer-quant --type Q4_K cut.gguf a.gguf
	perl -0777 -pe 's/llama\.block_count\x04\0\0\0\K\x01/\x02/ or die' "$F32" >less.gguf
	fails 3 'tensor blk.1.attn_norm.weight: missing' infer-quant --type Q4_K less.gguf a.gguf
	none a.gguf
	infer-quant --copy less.gguf copy.gguf
	infer-quant --copy --split-max-size 300K "$F16" s.gguf
	second=$(echo s-00002-of-*)
	mv "$second" second
	fails 1 's-00002' infer-quant --type Q4_K s-00001-of-* a.gguf
	head -c 200000 second >"$second"
	fails 3 's-00002-.*: tensor .*: the file ends before them' infer-quant --type Q4_K s-00001-of-* a.gguf
	cp s-00003-of-* "$second"
	fails 3 's-00002-.*: not a shard of this model: it is 3 of' infer-quant --type Q4_K s-00001-of-* a.gguf
	none a.gguf
}

@test "two at once: the second is refused" {
	for _ in 1 2 3 4 5; do # on a loaded machine the first may be done before this shell has its turn
		nice -n 5 infer-quant -t 1 --type Q4_K_M "$BIG" a.gguf &
		# it is locked before anything is written to it
		for _ in $(seq 1200); do [ -s a.gguf.resume ] || [ -e a.gguf ] && break; sleep 0.01; done
		kill -STOP $! 2>/dev/null && [ -s a.gguf.resume ] && break
		kill -CONT $! 2>/dev/null || true
		wait $!
		rm -f a.gguf
	done
	rc=0
	fails 1 'another process is writing it' infer-quant --type Q4_K_M "$BIG" a.gguf || rc=$?
	kill -CONT $!
	wait $!
	same 0 "$rc"
	infer-inspect verify a.gguf >/dev/null
}

@test "--zstd: what zstd unpacks to the same file, whatever the number of threads; split, verified, continued" {
	infer-quant --type Q8_0 "$BIG" a.gguf
	for t in 1 3; do infer-quant -t $t --type Q8_0 --zstd --verify "$BIG" a$t.gguf.zst; done
	cmp a1.gguf.zst a3.gguf.zst
	infer-quant --copy a1.gguf.zst a1.gguf
	infer-quant --copy a.gguf a2.gguf
	cmp a1.gguf a2.gguf
	same "$(infer-inspect --json a.gguf | json id)" "$(infer-inspect --json a1.gguf.zst | json id)"
	infer-quant --copy --zstd=19 --split-max-size 300K --json "$F16" s.gguf.zst >records
	same "$(cat s-*-of-*.gguf.zst | wc -c)" "$(tail -1 records | json packed_bytes)"
	infer-quant --copy s-00001-of-*.gguf.zst b.gguf
	infer-quant --copy "$F16" c.gguf
	cmp b.gguf c.gguf
	[ -z "$(find . -name '*.part*' -o -name '*.resume')" ]
	fails 2 '\-\-zstd' infer-quant --copy --zstd=23 "$F16" x.gguf.zst
	# killed while it compresses
	nice -n 5 infer-quant --copy --zstd=19 "$BIG" d.gguf.zst 2>err &
	for _ in $(seq 600); do [ -s d.gguf.zst.part.zst ] && break; sleep 0.05; done
	kill -9 $!
	wait $! || true
	[ ! -e d.gguf.zst ]
	infer-quant --copy --zstd "$BIG" d.gguf.zst
	infer-quant --copy "$BIG" e.gguf
	infer-quant --copy d.gguf.zst d.gguf
	cmp d.gguf e.gguf
	[ -z "$(find . -name '*.part*' -o -name '*.resume')" ]
}

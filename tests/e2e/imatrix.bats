# infer-quant imatrix
load lib

setup_more() {
	perl -e 'print " word", $_ * $_ % 97 for 1 .. 3000' >text
	mkmodel --arch qwen3moe --seed 4 "$BATS_FILE_TMPDIR/moe.gguf"
	export MOE=$BATS_FILE_TMPDIR/moe.gguf TEXT=$BATS_FILE_TMPDIR/text
}

imatrix() { infer-quant imatrix "$@"; }

@test "imatrix: a file in the public form, the same for any threads and steps, that quantising takes" {
	head -c 6000 "$TEXT" >t
	imatrix -f t -c 64 -t 1 --out a
	imatrix -f t -c 64 -t 3 --prefill-chunk 7 --out b
	cmp a b
	[ ! -e a.part ]
	infer-inspect --json a | grep -q '"key":"general.type".*"imatrix"'
	imatrix --show a >s
	grep -q '^text  *t$' s
	grep -Eq '^windows +[0-9]+ of 64 tokens$' s
	rows=$(($(sed -n 's/^windows *\([0-9]*\) .*/\1/p' s) * 64))
	grep -Eq "^ +64 +1 +$rows +$rows +[0-9.e-]+ +[0-9.]+  blk.0.attn_q.weight$" s
	infer-quant -q --type Q4_0 --imatrix a "$M" q.gguf
	infer-inspect --json q.gguf | grep -q 'quantize.imatrix.chunks_count'
}

@test "imatrix: every expert has its own rows" {
	head -c 3000 "$TEXT" >t
	imatrix -m "$MOE" -f t -c 64 --out a
	imatrix --show a >s
	awk '/ffn_down_exps/ && $2 > 1 && $3 < $4 { n++ } END { exit n < 1 }' s
	# one that was hardly seen is refused where importances are needed
	mkmodel --arch qwen3moe --embd 256 --expert-ff 256 --layers 1 wide.gguf
	imatrix -m wide.gguf -f <(head -c 60 t) -c 8 --out few
	fails 2 'the importances of expert [0-9]+ are from [0-7] rows, and IQ2_XXS needs 8' infer-quant -q --type Q8_0 --keep exps=IQ2_XXS --imatrix few wide.gguf x.gguf
	infer-quant -q --type Q4_0 --imatrix few wide.gguf x.gguf
}

@test "imatrix --merge: the sums of the parts are the sums of the whole" {
	head -c 3000 "$TEXT" >t
	imatrix -f t -c 32 --out a
	imatrix --merge a a --out b
	imatrix --show a a >two
	imatrix --show b >one
	cmp one two
	same "$(($(imatrix --show a | sed -n 's/^windows *\([0-9]*\) .*/\1/p') * 2))" "$(sed -n 's/^windows *\([0-9]*\) .*/\1/p' one)"
}

# dat FILE OUT: the older form of an importance matrix, whose windows are of 32 tokens, by the records of --show
dat()
{
	perl -e '
		use strict;
		my ($in, $out) = @ARGV;
		open my $f, "<:raw", $in or die;
		local $/;
		my $b = <$f>;
		my ($at, %t) = (24);
		my $take = sub { my $n = shift; $at += $n; substr $b, $at - $n, $n };
		my $text = sub { $take->(unpack "Q<", $take->(8)) };
		my ($tensors, $keys) = unpack "x8 Q< Q<", $b;
		for (1 .. $keys) {
			$text->();
			my $type = unpack "V", $take->(4);
			if ($type == 8) { $text->() }
			elsif ($type == 9) { my ($e, $n) = unpack "V Q<", $take->(12); $text->() for 1 .. $n }
			else { $take->(4) }
		}
		for (1 .. $tensors) {
			my $name = $text->();
			my @ne = unpack "Q<*", $take->(8 * unpack "V", $take->(4));
			$take->(4);
			$t{$name} = [unpack("Q<", $take->(8)), $ne[0] * $ne[1]];
		}
		$at = int(($at + 31) / 32) * 32;
		my @names = map { /(.*)\.in_sum2$/ ? $1 : () } sort keys %t;
		print {*STDOUT} pack "V", scalar @names;
		for my $n (@names) {
			my ($sums, $counts) = map { my ($o, $k) = @{$t{"$n.$_"}}; [unpack "f<$k", substr $b, $at + $o, 4 * $k] } qw(in_sum2 counts);
			my ($calls, $per) = (9, @$sums / @$counts);
			print {*STDOUT} pack("V/a V V", $n, $calls, scalar @$sums), pack "f<*", map { my $c = $counts->[$_ / $per]; $c ? $sums->[$_] / $c * $calls : 0 } 0 .. $#$sums;
		}
		print {*STDOUT} pack "V V/a", 9, "old.txt";' "$1" >"$2"
}

@test "imatrix: the older form is shown, added up, and becomes the newer one; experts too" {
	head -c 3000 "$TEXT" >t
	for m in "$M" "$MOE"; do
		imatrix -m "$m" -f t -c 32 --out a
		dat a a.dat
		imatrix --show a.dat >s
		grep -q '^text  *old.txt$' s
		grep -q '^windows  *9 of 512 tokens$' s
		grep -Eq '^ +64 +1 +4608 +4608 .*  blk.0.attn_q.weight$' s
		imatrix --merge a a.dat --out both
		imatrix --merge a.dat a --out other
		# the same means, and the shape of the newer form whichever comes first
		for f in both other; do
			same "$(imatrix --show a | awk 'NR > 3 { print $1, $2, $NF }')" "$(imatrix --show $f | awk 'NR > 3 { print $1, $2, $NF }')"
		done
		imatrix --merge a.dat --out new
	done
	imatrix -f t -c 32 --out a
	dat a a.dat
	imatrix --merge a.dat --out new
	infer-quant -q --type Q4_K_M --imatrix a "$M" a.gguf
	infer-quant -q --type Q4_K_M --imatrix a.dat "$M" b.gguf
	infer-quant -q --type Q4_K_M --imatrix new "$M" c.gguf
	same 0 "$(infer-inspect diff --json b.gguf c.gguf | grep '"of":"file"' | json error_rms)"
	# but for what the older form rounds
	{ infer-inspect diff --json a.gguf c.gguf || :; } | grep '"of":"file"' | json error_relative | awk '{ exit !($1 < 0.02) }'
	head -c 500 a.dat >cut.dat
	fails 3 'cut.dat: ' imatrix --show cut.dat
	cp a.dat bad.dat
	printf '\377\377\377\377' | dd of=bad.dat bs=1 conv=notrunc status=none
	fails 3 'bad.dat: is neither GGUF nor .dat: byte 4' imatrix --show bad.dat
}

@test "imatrix --show --json: the numbers of the table, a record for each tensor and one for all" {
	head -c 3000 "$TEXT" >t
	imatrix -m "$MOE" -f t -c 64 --out a
	imatrix --show a >s
	imatrix --show --json a >r
	same imatrix "$(json kind <r | sort -u)"
	same "$(awk 'NR > 3 { print $1, $2, $3, $4, $NF }' s)" "$(paste -d ' ' <(grep '"tensor"' r | json columns) <(grep '"tensor"' r | json matrices) \
		<(grep '"tensor"' r | json least_rows) <(grep '"tensor"' r | json most_rows) <(grep '"tensor"' r | json name))"
	same "$(sed -n 's/^windows *//p' s)" "$(tail -n 1 r | json windows) of $(tail -n 1 r | json window) tokens"
	same "t $(($(wc -l <r) - 1))" "$(tail -n 1 r | json text) $(tail -n 1 r | json tensors)"
	infer-quant imatrix -q --show --json a | head -n 1 | grep -q '^{"v":1,"kind":"imatrix"'
}

@test "imatrix: a run that was killed is continued, and the result is the same" {
	imatrix -f "$TEXT" -c 16 -t 1 --out whole
	imatrix -f "$TEXT" -c 16 -t 1 --out f &
	for _ in $(seq 3000); do [ ! -e f.part ] || break; sleep 0.01; done
	kill -9 $! || true
	wait $! || true
	if [ ! -e f ]; then
		infer-inspect f.part >/dev/null 2>&1 || [ -s f.part ]
		imatrix -f "$TEXT" -c 16 -t 1 --out f
	fi
	cmp whole f
	[ ! -e f.part ]
	# what belongs to another text is not continued
	head -c 3000 "$TEXT" >t
	imatrix -f t -c 16 --out g
	cp g f.part
	imatrix -f "$TEXT" -c 16 -t 1 --out f
	cmp whole f
}

@test "imatrix: what is asked wrongly" {
	printf 'a \377' >bytes
	fails 2 'bytes: not UTF-8 at byte 2$' imatrix -m "$M" -f bytes --out x
	head -c 3000 "$TEXT" >t
	fails 2 'a text is needed' imatrix --out x
	fails 2 '--out FILE is needed' imatrix -f t
	fails 2 'takes no argument' imatrix more -f t --out x
	fails 2 'writes no file' imatrix --show t --out x
	fails 2 'need importance matrices' imatrix --show
	fails 2 'does not go with' imatrix --merge a -f t --out x
	for o in '--type Q4_0' --copy --json '--ref x' '--choices x' '--record x'; do
		fails 2 'imatrix takes' imatrix -f t --out x $o
	done
	fails 2 'a window has 512' imatrix -f <(head -c 300 t) --out x
	: >empty
	fails 2 'is empty' imatrix -f empty --out x
	fails 1 nosuch imatrix -f nosuch --out x
	fails 1 nosuch imatrix --show nosuch
	fails 3 'general.type is not imatrix' imatrix --show "$M"
	fails 3 '' imatrix --show t
	fails 1 nowhere imatrix -f t -c 32 --out nowhere/x
	[ ! -e x ]
	imatrix -f t -c 32 --out a
	mkmodel --embd 128 wide.gguf
	imatrix -m wide.gguf -f t -c 32 --out b
	fails 3 'before' imatrix --merge a b --out x
}

# infer-bench compare and ab
load lib

# record CASE_TOKENS FACTOR SEED [MS]: a record as run prints it, of eight turns, taken at MS; the machine moved by 4 %
record()
{
	perl -e '
		my ($tokens, $factor, $seed, $ms) = (@ARGV, 1000);
		my @v = map { sprintf "%.6g", $factor * (100 + ($_ * 7 + $seed * 3) % 8) } 0 .. 7;
		my @s = sort { $a <=> $b } @v;
		printf q({"v":1,"kind":"bench","bench":"decode","tokens":%d,"depth":0,"batch":1,"repeat":8,"clock":"wall","created_ms":%d,)
			. join("", map { qq("$_":{"median":10,"min":9.8,"max":10.2},) } qw(mapped_gb_s fma_gflop_s dot_gop_s core_clock))
			. q("waited":{"median":0.01,"min":0,"max":0.02},)
			. q("metrics":{"decode_tok_s":{"unit":"tok/s","better":"higher","n":8,"p50":{"value":%g},"values":[%s]}},)
			. q("model":{"id":"a","types":{"F32":1}},"commit":"c","machine":{"cpu":"x","threads":2},"run":{"flags":[]}}) . "\n",
			$tokens, $ms, ($s[3] + $s[4]) / 2, join ",", @v' "$@"
}

@test "compare: one record of each: only what exceeds the machine's own change has a verdict; exit code 8 on what is slower" {
	record 128 1 1 >base
	record 128 1 2 >same
	record 128 0.8 3 >slow
	infer-bench compare base same >out
	grep -Eq 'decode_tok_s .* unclear$' out
	grep -q '^  unclear: decode_tok_s$' out
	sed -n 1p out | grep -q '^base and new: typical values whose ratio is the change'
	# the heading ends its columns where the line ends them
	sed -n 2p out | grep -Eq '^  metric +base +new +change +interval \(99 %\) verdict$'
	same "$(sed -n 2p out | sed 's/verdict$//' | wc -c)" "$(grep '^  decode_tok_s' out | sed 's/[a-z]*$//' | wc -c)"
	grep -q '^    one record of each, not in turns; the machine itself moved by 4 %$' out
	grep -q '^    5 records of each in turns settle it, or infer-bench ab$' out
	awk 'length > 80 && !/^[+!?]/ { wide = 1 } END { exit wide }' out
	rc=0
	infer-bench compare base slow --json >out || rc=$?
	same '8 worse' "$rc $(head -n 1 out | json verdict)"
	head -n 1 out | json change | awk '{ exit !($1 < -0.18 && $1 > -0.22) }'
	head -n 1 out | json hi | awk '{ exit !($1 < 0) }'
	# the typical values have the ratio of the change
	awk -v b="$(head -n 1 out | json base)" -v n="$(head -n 1 out | json new)" -v c="$(head -n 1 out | json change)" \
		'BEGIN { exit !(n / b - 1 - c < 1e-6 && n / b - 1 - c > -1e-6) }'
	same 'null null' "$(head -n 1 out | json why) $(head -n 1 out | json settled_by)"
	same '10 worse' "$(tail -n 1 out | json rules.#) $(tail -n 1 out | json verdict)"
	infer-bench compare slow base | grep -q ' better$'
	infer-bench compare --tolerance 30 base - <slow | grep -q ' unclear$'
	# the machine itself was slower, its clock too, or others had it: the ceilings are in the record
	sed 's/"mapped_gb_s":{"median":10,"min":9.8/"mapped_gb_s":{"median":7,"min":7/' slow | infer-bench compare base - >out
	grep -Eq '^! limit beside .*43 %' out
	grep -q 'the machine itself moved by 46 %' out
	sed 's/"core_clock":{"median":10,"min":9.8/"core_clock":{"median":8.5,"min":8.5/' slow | infer-bench compare base - >out
	grep -q 'the machine itself moved by 20 %' out
	sed 's/"waited":{"median":0.01/"waited":{"median":0.2/' slow | infer-bench compare base - >out
	grep -q 'other programs had 20 % of the time' out
	# records of other programs do not contain it
	sed 's/"core_clock":{[^}]*},//' slow | infer-bench compare base - >out
	grep -q "they do not tell the machine's speed" out
	sed 's/"waited":{[^}]*},//' slow | infer-bench compare base - >out
	grep -q "they do not tell the machine's speed" out
	for how in out; do grep -Eq 'decode_tok_s .* unclear$' $how; done
}

@test "compare: five turns each, all rates halved: worse, and never the same" {
	record 128 1 1 | sed 's/,[0-9.]*,[0-9.]*,[0-9.]*\]/]/' >base
	record 128 0.5 1 | sed 's/,[0-9.]*,[0-9.]*,[0-9.]*\]/]/' >half
	same 5 "$(json metrics.decode_tok_s.values.# <half)"
	rc=0
	infer-bench compare base half >out || rc=$?
	same 8 $rc
	grep -Eq 'decode_tok_s .* worse$' out
	infer-bench compare half base | grep -Eq 'decode_tok_s .* better$'
	# as it was measured on a busy machine
	sed -i 's/"waited":{"median":0.01/"waited":{"median":0.5/' half
	infer-bench compare base half >out
	grep -Eq 'decode_tok_s .* unclear$' out
}

# in_turns FACTOR N: N records of each side in turns, the machine a little slower each time, to base and new
in_turns()
{
	for i in $(seq "$2"); do
		record 128 "$(awk -v i="$i" 'BEGIN { print 1 - 0.02 * i }')" 1 $((i * 1000 + i % 2 * 100))
	done >base
	for i in $(seq "$2"); do
		record 128 "$(awk -v i="$i" -v f="$1" 'BEGIN { print f * (1 - 0.02 * i) * (1 + i % 3 / 1000) }')" 1 $((i * 1000 + 50))
	done >new
}

@test "compare: records taken in turns are pairs, and need no other measure of the machine" {
	in_turns 1 6
	infer-bench compare base new --json >out
	same 'same rounds 6' "$(head -n 1 out | json verdict) $(head -n 1 out | json paired) $(head -n 1 out | json n_new)"
	infer-bench compare base new | grep -q '^+ spread told *6 records and 6.*; taken in turns$'
	in_turns 0.95 6
	rc=0
	infer-bench compare base new >out || rc=$?
	same 8 $rc
	# one more at the end changes nothing
	record 128 1 1 9000 >>new
	rc=0
	infer-bench compare base new --json >out || rc=$?
	same '8 rounds 6' "$rc $(head -n 1 out | json paired) $(head -n 1 out | json n_new)"
	# one side after the other: no pairs, and the machine's change counts
	in_turns 0.95 6
	sed -i 's/"created_ms":/&9/' new
	infer-bench compare base new --json >out
	same 'unclear no' "$(head -n 1 out | json verdict) $(head -n 1 out | json paired)"
}

@test "compare: many records count by their medians; what only one side has, and rules that are broken, are named" {
	for i in 1 2 3 4 5 6; do record 128 0.9 $i >>new; record 128 1 $i >>base; done
	rc=0
	infer-bench compare base new >out || rc=$?
	same 8 $rc
	grep -q '^+ spread told *6 records and 6' out
	record 64 1 1 >>base
	sed -i 's/"x"/"y"/; s/"id":"a"/"id":"b"/' new
	infer-bench compare base new >out 2>err || rc=$?
	grep -q 'decode tokens=64 .*only in base' err
	for r in 'one model' 'one machine' 'one workload'; do grep -q "^! $r" out; done
	# ids depend on the version that wrote them; hashes of the files do not
	hash() { sed "s/\"model\":/\"sha256\":[\"$2\"],&/" "$1"; }
	infer-bench compare <(hash base 12) <(hash new 12) >out 2>err || true
	grep -q '^+ one model' out
	infer-bench compare <(hash base 12) <(hash new 13) >out 2>err || true
	grep -q '^! one model' out
	fails 2 'two files' infer-bench compare base
	fails 1 nosuch infer-bench compare base nosuch
	echo '{"kind":"token"}' >none
	fails 3 'none: has no record of a measurement' infer-bench compare none base
	echo '{"kind":' >torn
	fails 3 'torn: line 1 is not a record' infer-bench compare base torn
	record 32 1 1 >other
	infer-bench compare base other >out 2>err && return 1
	grep -q 'no measurements of the same case' err
}

# served SEED FACTOR [MS]: a record as serve prints it, of 600 requests; those that are slow, one in eight, take FACTOR times as long
served()
{
	perl -e '
		my ($seed, $factor, $ms) = (@ARGV, 1000);
		my $x = 7919 * $seed;
		my $draw = sub { $x = ($x * 69069 + 12345) % 4294967296; $x / 4294967296 };
		my @v = map { my $v = 100 + 20 * $draw->(); $v *= $factor * (2 + $draw->()) if $draw->() < 0.125; sprintf "%.6g", $v } 1 .. 600;
		printf q({"v":1,"kind":"bench","bench":"serve","created_ms":%d,"paired_by_request":true,"metrics":{"ttft_ms":{"unit":"ms","better":"lower","n":600,)
			. q("p50":{"value":%g},"p95":{"value":%g},"min":100,"values":[%s]}},"model":{"id":"a"},"machine":{"cpu":"x","threads":2},"run":{"flags":[]}}) . "\n",
			$ms, (sort { $a <=> $b } @v)[300, 570], join ",", @v' "$@"
}

verdicts() { grep '"case":"' "$1" | while read -r l; do echo "$(json metric <<<"$l") $(json verdict <<<"$l")"; done | xargs; }

@test "compare: requests that are slow now and then are found at p95, where the median says nothing" {
	for i in $(seq 10); do
		served $i 1 $((1000 * i)) >>base
		served $((i + 10)) 1 $((1000 * i + 10)) >>same
		served $((i + 20)) 1.3 $((1000 * i + 20)) >>slow
	done
	infer-bench compare base same --tolerance 12 --json >out
	same 'ttft_ms same ttft_ms p95 same' "$(verdicts out)"
	rc=0
	infer-bench compare base slow --tolerance 12 --json >out || rc=$?
	same '8 ttft_ms same ttft_ms p95 worse' "$rc $(verdicts out)"
	grep '"ttft_ms p95"' out | json change | awk '{ exit !($1 > 0.2 && $1 < 0.4) }'
	same '10 false' "$(grep '"ttft_ms p95"' out | json n_new) $(grep -q p99 out && echo true || echo false)"
	# one record of each does not contain how fast the machine was
	infer-bench compare <(head -n 1 base) <(head -n 1 slow) --json >out
	same 'ttft_ms unclear ttft_ms p95 unclear' "$(verdicts out)"
	same '600 requests' "$(grep '"ttft_ms p95"' out | json n_new) $(head -n 1 out | json paired)"
	grep '"ttft_ms p95"' out | json change | awk '{ exit !($1 > 0.2 && $1 < 0.4) }'
}

@test "ab: commands in turns, the records they print; a program that fails is named" {
	record 8 1 1 >fast
	record 8 0.8 1 >slow
	rc=0
	infer-bench ab --rounds 10 --max-rounds 10 --json 'cat fast' 'cat slow' >out || rc=$?
	same 8 $rc
	same "$(printf 'ab base 10\nab new 10')" "$(grep '"bench"' out | while read -r l; do echo "$(json bench <<<"$l") $(json side <<<"$l") $(json metrics.wall_s.n <<<"$l")"; done)"
	same 'worse rounds' "$(grep '"metric":"decode_tok_s' out | while read -r l; do echo "$(json verdict <<<"$l") $(json paired <<<"$l")"; done)"
	# an interval that is wider than the tolerance asks for more rounds, up to the most
	infer-bench ab --rounds 8 --max-rounds 12 --tolerance 1e-6 true true >out 2>err || true
	grep -q '^12 rounds in turns$' out
	grep -Eq '^  metric +base +new +change ' out
	# how long it may take is said at once where no progress line shows it
	grep -qx 'infer-bench: 8 rounds of both, then up to 12 while an interval is wide; none of these begins after 90 s' err
	infer-bench ab -q --rounds 2 --max-rounds 2 true true >out 2>err || true
	[ ! -s err ]
	fails 2 '--repeat goes with run and kernels only' infer-bench ab --repeat 3 true true
	fails 2 '--quick goes with run and kernels only' infer-bench ab --quick true true
	# other work of the machine must not make one of them twenty times as long
	infer-bench ab --rounds 8 --max-rounds 12 --tolerance 1000 'sleep 0.2' 'sleep 0.2' | grep -q '^8 rounds in turns$'
	# the time for more rounds is limited
	infer-bench ab --rounds 2 --max-rounds 1000 --max-time 0 --tolerance 1e-6 true true | grep -q '^2 rounds in turns$'
	# --rounds alone is exact, and --max-rounds is never exceeded, below the default of --rounds too
	infer-bench ab --rounds 3 --tolerance 1e-6 true true 2>err | grep -q '^3 rounds in turns$'
	grep -qx 'infer-bench: 3 rounds of both' err
	infer-bench ab --max-rounds 3 --tolerance 1e-6 true true | grep -q '^3 rounds in turns$'
	fails 2 '--max-rounds 3 is less than --rounds 4' infer-bench ab --rounds 4 --max-rounds 3 true true
	infer-bench ab --rounds 3 --max-rounds 3 --tolerance 1e-6 echo printf -- 'hello\n' >out || true
	grep -Eq '^  unclear: .*wall_s' out
	grep -Eq '^    (the interval is too wide|a value is 0)' out
	grep -Eq '^    about [0-9]+ rounds settle it: --rounds [0-9]+$|^    only a quieter machine settles it$' out
	fails 1 'exit code 3: said why' infer-bench ab -q --rounds 2 true 'echo said why >&2; exit 3'
	fails 1 'nosuchprogram' infer-bench ab -q --rounds 2 nosuchprogram true -- x
	fails 2 'ab needs two' infer-bench ab true
	fails 2 'two servers or two commands' infer-bench ab unix:here true
}

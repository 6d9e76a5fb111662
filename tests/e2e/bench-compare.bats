# infer-bench compare and ab
load lib

# record CASE_TOKENS FACTOR SEED: a record as run prints it, of eight turns
record()
{
	perl -e '
		my ($tokens, $factor, $seed) = @ARGV;
		my @v = map { sprintf "%.6g", $factor * (100 + ($_ * 7 + $seed * 3) % 8) } 0 .. 7;
		my @s = sort { $a <=> $b } @v;
		printf q({"v":1,"kind":"bench","bench":"decode","tokens":%d,"depth":0,"batch":1,"repeat":8,"clock":"wall","mapped_gb_s":{"median":10},)
			. q("metrics":{"decode_tok_s":{"unit":"tok/s","better":"higher","n":8,"p50":{"value":%g},"values":[%s]}},)
			. q("model":{"id":"a","types":{"F32":1}},"commit":"c","machine":{"cpu":"x","threads":2},"run":{"flags":[]}}) . "\n",
			$tokens, ($s[3] + $s[4]) / 2, join ",", @v' "$@"
}

@test "compare: exit code 8 on what is slower by more than the tolerance, and only then" {
	record 128 1 1 >base
	record 128 1 2 >same
	record 128 0.8 3 >slow
	infer-bench compare base same >out
	grep -Eq 'decode_tok_s .* same$' out
	awk 'length > 80 && !/^[+!?]/ { wide = 1 } END { exit wide }' out
	rc=0
	infer-bench compare base slow --json >out || rc=$?
	same '8 worse' "$rc $(head -n 1 out | json verdict)"
	head -n 1 out | json change | awk '{ exit !($1 < -0.18 && $1 > -0.22) }'
	head -n 1 out | json hi | awk '{ exit !($1 < 0) }'
	same '10 worse' "$(tail -n 1 out | json rules.#) $(tail -n 1 out | json verdict)"
	infer-bench compare slow base | grep -q ' better$'
	infer-bench compare --tolerance 30 base - <slow | grep -q ' same$'
	# the machine itself was slower: its ceiling is in the record
	sed 's/"median":10/"median":7/' slow | infer-bench compare base - >out
	grep -Eq '^! limit beside .*43 %' out
	grep -Eq 'decode_tok_s .* same$' out
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

# served SEED FACTOR: a record as serve prints it, of 600 requests; those that are slow, one in eight, take FACTOR times as long
served()
{
	perl -e '
		my ($seed, $factor) = @ARGV;
		my $x = 7919 * $seed;
		my $draw = sub { $x = ($x * 69069 + 12345) % 4294967296; $x / 4294967296 };
		my @v = map { my $v = 100 + 20 * $draw->(); $v *= $factor * (2 + $draw->()) if $draw->() < 0.125; sprintf "%.6g", $v } 1 .. 600;
		printf q({"v":1,"kind":"bench","bench":"serve","paired_by_request":true,"metrics":{"ttft_ms":{"unit":"ms","better":"lower","n":600,)
			. q("p50":{"value":%g},"values":[%s]}},"model":{"id":"a"},"machine":{"cpu":"x","threads":2},"run":{"flags":[]}}) . "\n",
			(sort { $a <=> $b } @v)[300], join ",", @v' "$@"
}

@test "compare: requests that are slow now and then are found at p95, where the median says nothing" {
	served 1 1 >base
	served 2 1 >same
	served 3 1.3 >slow
	infer-bench compare base same --json >out
	same 'ttft_ms same ttft_ms p95 same' "$(grep '"case":"' out | while read -r l; do echo "$(json metric <<<"$l") $(json verdict <<<"$l")"; done | xargs)"
	rc=0
	infer-bench compare base slow --json >out || rc=$?
	same '8 ttft_ms same ttft_ms p95 worse' "$rc $(grep '"case":"' out | while read -r l; do echo "$(json metric <<<"$l") $(json verdict <<<"$l")"; done | xargs)"
	grep '"ttft_ms p95"' out | json change | awk '{ exit !($1 > 0.2 && $1 < 0.4) }'
	same '600 false' "$(grep '"ttft_ms p95"' out | json n_new) $(grep -q p99 out && echo true || echo false)"
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
	infer-bench ab --rounds 8 --max-rounds 12 --tolerance 1e-6 true true | grep -q '^12 rounds in turns$'
	# other work of the machine must not make one of them twenty times as long
	infer-bench ab --rounds 8 --max-rounds 12 --tolerance 1000 'sleep 0.2' 'sleep 0.2' | grep -q '^8 rounds in turns$'
	infer-bench ab --rounds 3 echo printf -- 'hello\n' | grep -Eq 'wall_s .* unclear$'
	fails 1 'exit code 3: said why' infer-bench ab --rounds 2 true 'echo said why >&2; exit 3'
	fails 1 'nosuchprogram' infer-bench ab --rounds 2 nosuchprogram true -- x
	fails 2 'ab needs two' infer-bench ab true
	fails 2 'two servers or two commands' infer-bench ab unix:here true
}

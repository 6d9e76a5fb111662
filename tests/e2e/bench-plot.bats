# infer-bench plot and report
load lib

setup_more()
{
	cd "$BATS_FILE_TMPDIR" || return
	local name='"name":"x<y"'
	for b in 1 2 4 8; do
		echo '{"v":1,"kind":"bench","bench":"decode","tokens":32,"depth":0,"batch":'$b',"repeat":3,"clock":"wall","tok_s":{"median":'$((b * 100))',"min":'$((b * 90))',"max":'$((b * 110))'},"weight_bytes":1000,"kv_bytes":10,"ops":2000,"limit_tok_s":1600,"fraction":{"median":0.5},"mapped_gb_s":{"median":10},"fma_gflop_s":{"median":100},"dot_gop_s":{"median":400},"metrics":{"decode_tok_s":{"unit":"tok/s","better":"higher","n":3,"p50":{"value":'$((b * 100))'},"values":[1,2,3]}},"run":{"model":{'"$name"'}}}'
	done >run.jsonl
	perl -e 'print q({"kind":"bench","bench":"serve","workload":{"clients":1},"most_at_once":1,"metrics":{),
		join(",", map { my $f = $_; my $m = (qw(ttft_ms e2e_ms tpot_ms))[$f]; qq("$m":{"unit":"ms","better":"lower","n":200,"p50":{"value":1},"values":[) . join(",", map { ($f + 1) * (1 + $_ / 10) } 1 .. 200) . "]}" } 0 .. 2), "}}\n"' >serve.jsonl
}

@test "plot: letters for a terminal, within 80 columns, with axes, units and the limit" {
	infer-bench plot "$BATS_FILE_TMPDIR/run.jsonl" >a
	for t in 'tokens per second' 'sequences at once' 'decode of 32: limit'; do grep -q "$t" a; done
	awk 'length > 80 { wide = 1 } END { exit wide }' a
	# four measurements, the limit above all of them
	same 4 "$(sed -n '3,22p' a | tr -dc '*' | wc -c)"
	sed -n 3p a | grep -q -- '-------'
	infer-bench plot --kind roofline <"$BATS_FILE_TMPDIR/run.jsonl" | grep -q 'operations per byte'
	infer-bench plot "$BATS_FILE_TMPDIR/serve.jsonl" >b
	grep -q 'percentile of requests' b
	grep -Eq ' 50 .* 75 .* 90 .* 95 .* 99' b
	fails 3 'no record has points for the figure' infer-bench plot --kind latency "$BATS_FILE_TMPDIR/run.jsonl"
	fails 2 'must end with .svg or .png' infer-bench plot --out a.gif "$BATS_FILE_TMPDIR/run.jsonl"
	fails 3 'has no record of a measurement' infer-bench plot /dev/null
}

@test "plot: pictures by gnuplot; without it, an error that names it, and a report in letters" {
	fails 1 'gnuplot' env PATH="$PWD/missing" "$B/infer-bench" plot --out a.svg "$BATS_FILE_TMPDIR/run.jsonl"
	[ ! -e a.svg ]
	env PATH="$PWD/missing" "$B/infer-bench" report "$BATS_FILE_TMPDIR/run.jsonl" >letters.html 2>said
	grep -q '<pre>Speed of a model' letters.html
	grep -q 'gnuplot is not installed' said
	command -v gnuplot >/dev/null || skip "needs gnuplot (package gnuplot-nox)"
	infer-bench plot --out a.svg "$BATS_FILE_TMPDIR/run.jsonl"
	for t in 'tokens per second' 'sequences at once' 'decode of 32: limit'; do grep -q "$t" a.svg; done
	infer-bench plot --out a.png "$BATS_FILE_TMPDIR/serve.jsonl"
	same PNG "$(head -c 4 a.png | tail -c 3)"
}

@test "report: a page that needs nothing else, with what was measured, figures and rules; text is escaped" {
	infer-bench report --out r.html "$BATS_FILE_TMPDIR/run.jsonl" "$BATS_FILE_TMPDIR/serve.jsonl"
	for t in 'x&lt;y' 'decode tokens=32 depth=0 batch=8' 'e2e_ms' 'one quantisation' 'too few' '</html>'; do grep -qF "$t" r.html; done
	run ! grep -Eq '(src|href)="?http|<script|@import' r.html
	same 10 "$(grep -cE '<td class="t (kept|broken|unknown)">' r.html)"
	fails 2 'goes with plot only' infer-bench report --kind sweep x
}

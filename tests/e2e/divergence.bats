# infer-quant with an importance matrix: what models lose, and that weights do not shrink
load lib

setup_more()
{
	infer-quant -q --type F32 demo f32.gguf 2>err
	infer-quant imatrix -q -c 256 -m f32.gguf -f "$TOP/tests/golden/quant/calibration.txt" --out matrix
}

# Of one mix on a model so small, the ratio depends on chance: by a fifth, whatever the criterion of the search.
@test "over several mixes, the divergence is near that of the public quantiser's files, or smaller" {
	while read -r mix theirs; do
		infer-quant -q --type "$mix" --imatrix "$BATS_FILE_TMPDIR/matrix" "$BATS_FILE_TMPDIR/f32.gguf" q.gguf
		infer-quant eval -q --json -c 256 -m q.gguf --ref "$BATS_FILE_TMPDIR/f32.gguf" -f "$TOP/tests/golden/quant/held-out.txt" >record
		echo "$mix $(json kl.mean.value <record) $theirs"
	done < <(grep -v '^#' "$TOP/tests/golden/quant/divergence.txt") >table
	cat table
	awk '{ sum += log($2 / $3) } END { print "ratio", exp(sum / NR); exit NR != 8 || sum / NR > log(1.12) }' table
}

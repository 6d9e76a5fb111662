MODEL(spm)
MODEL(bpe)
MODEL(gemma4)

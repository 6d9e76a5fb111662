/* kern/arm/quant.h - quantise activations in 128-bit registers; rounding: enum kern_form. */

/* Quantise n numbers, a multiple of 32.  sum4: sums of 4 neighbours.  Returns the scale. */
INLINE float quantise(int8_t *q, int32_t *sum4, const float *x, int n)
{
	uint32x4_t amax = vdupq_n_u32(0);
	float inverse, d;

	for (int i = 0; i < n; i += 4)
		amax = vmaxq_u32(amax, vandq_u32(vreinterpretq_u32_f32(vld1q_f32(x + i)),
		                                 vdupq_n_u32(0x7fffffff)));
	d = act_scale(vmaxvq_u32(amax), &inverse);
	/* if inverse is 0, every number becomes 0, also NaN and infinity */
	const int32x4_t keep = vdupq_n_s32(inverse == 0 ? 0 : -1);
	for (int i = 0; i < n; i += 16) {
		int32x4_t v[4];
		UNROLL
		for (int j = 0; j < 4; j++)
			v[j] = vandq_s32(keep, vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + i + 4 * j),
			                                                  inverse)));
		int8x16_t b =
			vcombine_s8(vqmovn_s16(vcombine_s16(vqmovn_s32(v[0]), vqmovn_s32(v[1]))),
		                    vqmovn_s16(vcombine_s16(vqmovn_s32(v[2]), vqmovn_s32(v[3]))));
		vst1q_s8(q + i, b);
		vst1q_s32(sum4 + i / 4, vpaddlq_s16(vpaddlq_s8(b)));
	}
	return d;
}

void KERN_FN(quant_q8)(struct kern_act *x, int row, const float *src, int k)
{
	struct kern_q8 *b = (struct kern_q8 *)(void *)((char *)x->q + (size_t)row * x->q_row);

	for (int i = 0; i < k / 32; i++) {
		int32_t sum4[8];
		b[i].d = quantise(b[i].q, sum4, src + 32 * i, 32);
		b[i].neg_sum = -vaddvq_s32(vaddq_s32(vld1q_s32(sum4), vld1q_s32(sum4 + 4)));
	}
}

void KERN_FN(quant_q8k)(struct kern_act *x, int row, const float *src, int k)
{
	struct kern_q8k *b = (struct kern_q8k *)(void *)((char *)x->q + (size_t)row * x->q_row);

	for (int i = 0; i < k / 256; i++) {
		int32_t sum4[64];
		b[i].d = quantise(b[i].q, sum4, src + 256 * i, 256);
		act_sums_fill(&b[i], sum4);
	}
}

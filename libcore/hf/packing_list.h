/* Quantisation methods of checkpoints: PACKING(NAME) is packing_NAME.  A module is read by the
 * first row whose `takes` accepts the configuration and whose first part exists.  No guard:
 * included once per use of PACKING(). */
PACKING(gptq)
PACKING(awq)
PACKING(bnb4)
PACKING(bnb8)
PACKING(mlx)
PACKING(hqq)
PACKING(ct)
PACKING(fp8)
PACKING(fp8_scale)
PACKING(modelopt)
PACKING(mxfp4)

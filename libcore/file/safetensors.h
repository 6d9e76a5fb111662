/* file/safetensors.h - the tensors of safetensors files: an 8-byte length, a JSON object of names
 * with dtype, shape and data_offsets, then the data.
 * https://github.com/huggingface/safetensors */
#ifndef FILE_SAFETENSORS_H
#define FILE_SAFETENSORS_H
#include "base/arena.h"
#include "file/file.h"

enum safetensors_dtype {
	ST_F64,
	ST_F32,
	ST_F16,
	ST_BF16,
	ST_F8_E4M3,
	ST_F8_E5M2,
	ST_F8_E8M0,
	ST_I64,
	ST_I32,
	ST_I16,
	ST_I8,
	ST_U64,
	ST_U32,
	ST_U16,
	ST_U8,
	ST_BOOL,
	ST_DTYPES,
	ST_PACKED = ST_DTYPES /* not in files: made by hf/packed.h */
};
enum { ST_MAX_DIMS = 8 };
struct safetensors_tensor {
	struct infer_str name;      /* unescaped; owned by the table, or in the mapping */
	int dtype;                  /* enum safetensors_dtype */
	int n_dims;                 /* 0 ... ST_MAX_DIMS */
	int64_t shape[ST_MAX_DIMS]; /* as in the file: the last one is contiguous */
	int shard;                  /* index of f->shards */
	uint64_t offset;            /* first byte, from the start of the shard */
	uint64_t bytes;
	const unsigned char *data;      /* may be unaligned */
	const struct hf_packed *packed; /* set if dtype is ST_PACKED */
};
struct safetensors {
	struct safetensors_tensor *at; /* [n] sorted by shard, then by offset */
	uint32_t n, cap;
	struct map map; /* name -> index in at */
	struct arena names;
};
/* Append the tensors of shard `shard` of f and set its header_bytes.  Checks every offset: the
 * tensors must fill the file without gaps or overlaps, each with the size of its shape and dtype.
 * INFER_EFORMAT: the message names the tensor; also if an earlier shard has its name.
 * INFER_EUNSUP: an unknown dtype.  INFER_ENOMEM: also for more than 200,000 tensors. */
int safetensors_read(struct safetensors *s, struct infer_file *f, int shard, infer_error *err);
void safetensors_fini(struct safetensors *s); /* a zeroed *s is fine */
/* Return the tensor of this name, or NULL. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *s, const char *name,
                                                  size_t n);
const char *safetensors_dtype_name(int dtype); /* such as "F32" */
unsigned safetensors_dtype_bytes(int dtype);
#endif

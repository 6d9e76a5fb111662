/* infer/file.h - model files: metadata and tensors, validated and mapped.   floor: file
 *
 * An open file is immutable and may be shared freely.  All text and tensor pointers are borrowed
 * from it.  GGUF v2 and v3, split files:
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 * and directories of Hugging Face checkpoints, which have the metadata and the tensors of the GGUF
 * file that the public converter makes of them. */
#ifndef INFER_FILE_H
#define INFER_FILE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/meta.h>
#include <infer/status.h>
#include <infer/type.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Roles of tensors that belong to another tensor and are needed to compute its values. */
enum infer_aux {
	INFER_AUX_SCALE, /* multiplies the values of the blocks */
	INFER_AUX_ZERO,  /* is subtracted first */
	INFER_AUX_ORDER, /* the column of the layer's input that each column is multiplied with */
	INFER_AUX_ROLES
};

struct infer_tensor {
	struct infer_str name;
	int type;        /* enum infer_type */
	int n_dims;      /* 1 ... 4 */
	int64_t ne[4];   /* ne[0] is contiguous; trailing ones are 1 */
	int shard;       /* the index of the file in a split model, from 0 */
	uint64_t offset; /* of its first byte, from the start of that shard */
	uint64_t bytes;
	/* in the mapping, or a copy in memory (infer_file_info.private_bytes); NULL: its ne[2] matrices
	 * are apart, as experts of a checkpoint are (infer_file_gather) */
	const void *data;
	/* its auxiliary tensors by enum infer_aux, which are also in the table; NULL: none */
	const struct infer_tensor *aux[INFER_AUX_ROLES];
	const struct infer_tensor *of; /* the tensor that this one belongs to; NULL: none */
};

struct infer_file_info {
	const char *format; /* "gguf", also where that is compressed; "hf" */
	uint32_t version;
	int n_shards; /* files; of a directory, with its text files */
	uint64_t n_meta, n_tensors;
	uint64_t file_bytes;   /* of all shards; of compressed ones, unpacked */
	uint64_t packed_bytes; /* of compressed shards, on disk; 0: there are none */
	/* memory of this process alone: of unpacked shards, and of tensors of a directory that are not
	 * used in place */
	uint64_t private_bytes;
};
struct infer_gguf_info {
	uint64_t alignment;    /* of tensor data in the first shard */
	uint64_t header_bytes; /* metadata and tensor table of the first shard */
};

/* Open and check the whole of a model file ("demo": the built-in model) (of a split one: any
 * shard's name; all shards) or of a directory.  No size in the file is trusted before it is checked; tensor data is
 * mapped, not read.  A file that is compressed with zstd, known by its first bytes, is unpacked into
 * private memory, of which it takes as much as the header inside says, and no more.
 * INFER_EIO      cannot be opened, or is neither a regular file nor a directory; also for a file that the
 *                index of a directory names
 * INFER_EFORMAT  damaged, or a shard of another model; names the key or tensor and the byte offset, in
 *                a directory the file and its key or tensor
 * INFER_EUNSUP   GGUF v1, big-endian, an array of arrays, or an unknown tensor type (named with its
 *                number and tensor); compressed in a way that needs a dictionary, or a window above
 *                128 MiB; a directory of another kind (named with the way out), with a member of
 *                config.json or a tensor that nothing reads
 * INFER_ENOMEM   also where more would be unpacked than memory is available */
int infer_file_open(infer_file **out, const char *path, infer_error *err);
/* The same.  w: is told of compressed bytes while a file is unpacked, of each shard from 0 on; may be
 * NULL. */
int infer_file_open_watched(infer_file **out, const char *path, const struct infer_watch *w,
                            infer_error *err);
/* The same over bytes in memory, borrowed until close; name is for messages.  INFER_EINVAL: not on
 * a multiple of 8 bytes. */
int infer_file_open_bytes(infer_file **out, const void *bytes, size_t n, const char *name,
                          infer_error *err);
void infer_file_close(infer_file **f);

/* Copy the matrices of every tensor whose data is NULL into one piece, in private memory, before f is
 * shared.  A model computes without this; what reads weights by itself needs it.
 * INFER_ENOMEM: also if more is needed than memory is available */
int infer_file_gather(infer_file *f, infer_error *err);

const char *infer_file_path(const infer_file *f); /* of the first shard */
void infer_file_info(const infer_file *f, struct infer_file_info *info);
/* Properties that only GGUF files have.  INFER_EUNSUP: a file of another format. */
int infer_file_gguf(const infer_file *f, struct infer_gguf_info *info, infer_error *err);
/* NULL past the end */
const struct infer_tensor *infer_file_tensor_at(const infer_file *f, uint64_t i);
const struct infer_tensor *infer_file_tensor(const infer_file *f, const char *name);

/* hex[65]: the `id` of the run record.  It is the sha256 of these bytes in this order: the header
 * (metadata and tensor table) of every shard; file_bytes as u64 little-endian; of each tensor in
 * the order of the table, the 4096 bytes that begin at (bytes - 4096) / 2, or all bytes of a smaller
 * tensor.  A compressed model has the id that it has unpacked.  The text files of a directory are header
 * as a whole; they are read in a fixed order, before the safetensors files.  The first call reads the
 * samples from the file; the result is kept. */
void infer_file_id(const infer_file *f, char hex[65]);
/* True if a record with this id was made with f: it is the id of f, or the one that older versions
 * wrote, the sha256 of the headers and file_bytes alone, which models of one shape may have in common.
 */
int infer_file_is(const infer_file *f, const char *id);
/* hex[65]: sha256 of the bytes of shard i, read from the mapping; of a compressed one, of what it is
 * unpacked to.  w: is told of bytes; may be NULL.
 * INFER_EINVAL: no such shard. */
int infer_file_sha256(const infer_file *f, int shard, char hex[65], const struct infer_watch *w,
                      infer_error *err);
/* INFER_EIO names a file that was modified in place since it was opened: results computed from it
 * belong neither to the old nor to the new contents.  Replacing the file under the same name has no
 * effect: the old file stays mapped.  Of a compressed file the one on disk counts. */
int infer_file_check_unchanged(const infer_file *f, infer_error *err);
/* Check every float scale and value of every tensor.  w: is told of bytes; may be NULL.  INFER_ENAN
 * names the tensor and the byte offset of the first one that is not finite. */
int infer_file_check_finite(const infer_file *f, const struct infer_watch *w, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif

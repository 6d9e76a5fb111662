/* infer/file.h - model files: metadata and tensors, validated and mapped.   floor: file
 *
 * An open file is Immutable, except for infer_file_gather.  Reading its data raises SIGBUS if the
 * file on disk was truncated.  All text and tensor pointers are borrowed from it.  Formats: GGUF v2
 * and v3, also split into several files
 * (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), and directories of Hugging Face
 * checkpoints, presented with the metadata and tensors of the GGUF file that the public converter
 * makes of them. */
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
	INFER_AUX_SCALE, /* factors of the decoded values */
	INFER_AUX_ZERO,  /* subtracted before scaling */
	INFER_AUX_ORDER, /* [columns] for each weight column, the index of its input column */
	INFER_AUX_ROLES
};

struct infer_tensor {
	struct infer_str name;
	int type;        /* enum infer_type */
	int n_dims;      /* 1 ... 4 */
	int64_t ne[4];   /* elements; ne[0] is contiguous; unused ones are 1 */
	int shard;       /* index of its file in a split model, from 0 */
	uint64_t offset; /* of the first byte of data, from the start of that file */
	uint64_t bytes;
	/* in the mapping or in private memory; NULL: the ne[2] matrices are stored separately, as
	 * the experts of a checkpoint (infer_file_gather) */
	const void *data;
	/* auxiliary tensors by enum infer_aux, also in the tensor table; NULL: none */
	const struct infer_tensor *aux[INFER_AUX_ROLES];
	const struct infer_tensor *of; /* the tensor that an auxiliary one belongs to; or NULL */
};

struct infer_file_info {
	const char *format; /* "gguf", also if compressed, or "hf"; static */
	uint32_t version;
	int n_shards; /* number of files; of a directory, with its text files */
	uint64_t n_meta, n_tensors;
	uint64_t file_bytes;   /* size of all files, unpacked */
	uint64_t packed_bytes; /* size of compressed files on disk; 0: there are none */
	/* private memory: unpacked files, and tensors of a directory that cannot be mapped */
	uint64_t private_bytes;
};
struct infer_gguf_info {
	uint64_t alignment;    /* of tensor data in the first file */
	uint64_t header_bytes; /* of the first file: metadata and tensor table */
};

/* Open and check a whole model: a file, all files of a split one (path: any of them), a directory,
 * or the built-in model "demo".  No size in the file is trusted before it is checked; tensor data
 * is mapped, not read.  A file compressed with zstd, detected by its first bytes, is unpacked into
 * private memory, at most as much as its header says.
 * INFER_EIO: a file cannot be opened, or is neither a regular file nor a directory.
 * INFER_EFORMAT: damaged, or a file of another model; names file, key or tensor, and byte offset.
 * INFER_EUNSUP: GGUF v1, big-endian, an array of arrays; an unknown tensor type, named with its
 *               number and tensor; compression with a dictionary or a window above 128 MiB; another
 *               kind of file or directory, named with the way out; a member of config.json or a
 *               tensor without a reader.
 * INFER_ENAN: a scale of a quantised checkpoint is not finite; names the tensor.
 * INFER_ENOMEM: also if unpacking needs more memory than is available. */
int infer_file_open(infer_file **out, const char *path, infer_error *err);
/* The same.  w (may be NULL) receives compressed bytes read while a file is unpacked, from 0 for
 * each file. */
int infer_file_open_watched(infer_file **out, const char *path, const struct infer_watch *w,
                            infer_error *err);
/* The same for bytes in memory, borrowed until close.  name: for messages, copied.  INFER_EINVAL:
 * the address is not a multiple of 8. */
int infer_file_open_bytes(infer_file **out, const void *bytes, size_t n, const char *name,
                          infer_error *err);
void infer_file_close(infer_file **f);

/* Copy the matrices of every tensor whose data is NULL into one piece of private memory.  Call it
 * before other threads use f.  Only callers that read weights by themselves need it.
 * INFER_ENOMEM: also if more memory is needed than is available. */
int infer_file_gather(infer_file *f, infer_error *err);

const char *infer_file_path(const infer_file *f); /* as passed to open; for bytes: their name */
void infer_file_info(const infer_file *f, struct infer_file_info *info);
/* Fill the properties that only GGUF files have.  INFER_EUNSUP: a file of another format. */
int infer_file_gguf(const infer_file *f, struct infer_gguf_info *info, infer_error *err);
/* Return tensor i in the order of the file, or the tensor of a name; NULL if there is none. */
const struct infer_tensor *infer_file_tensor_at(const infer_file *f, uint64_t i);
const struct infer_tensor *infer_file_tensor(const infer_file *f, const char *name);

/* Write the `id` of run records to hex[65].  It is the sha256 of these bytes in this order: the
 * header (metadata and tensor table) of every file; file_bytes as u64 little-endian; of each
 * tensor, in the order of the table, the 4096 bytes at (bytes - 4096) / 2, or all bytes of a
 * smaller one.  A compressed model has the id of its unpacked form.  The text files of a directory
 * count as headers as a whole, in a fixed order before the safetensors files.  The first call reads
 * the samples from the file; the result is cached. */
void infer_file_id(const infer_file *f, char hex[65]);
/* True if a record with this id was made with f.  Also accepts the id of older versions, the sha256
 * of only headers and file_bytes, which models of the same shape may share. */
int infer_file_is(const infer_file *f, const char *id);
/* Write the sha256 of shard i to hex[65], of its unpacked form if it is compressed.  w (may be
 * NULL) receives bytes read.
 * INFER_EINVAL: no such shard; hex is "". */
int infer_file_sha256(const infer_file *f, int shard, char hex[65], const struct infer_watch *w,
                      infer_error *err);
/* Check that no file was modified in place since it was opened; results computed from such a file
 * are worthless.  Replacing a file under the same name has no effect: the old one stays mapped.  A
 * compressed file is checked on disk.  INFER_EIO: names the file. */
int infer_file_check_unchanged(const infer_file *f, infer_error *err);
/* Check that every float scale and value of every tensor is finite.  w (may be NULL) receives bytes
 * read.
 * INFER_ENAN: names the tensor and the byte offset of the first one that is not. */
int infer_file_check_finite(const infer_file *f, const struct infer_watch *w, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif

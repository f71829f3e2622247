import os

import numpy as np
import tensorflow as tf

PATH = "train-%d.tfrecord"
SHARDS = 4


def write():
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(PATH % shard) as writer:
            for i in range(80):
                small = np.random.randint(0, 255, (16, 16, 3), dtype=np.uint8)
                png = tf.io.encode_png(tf.image.resize(small, (128, 128), method="nearest")).numpy()
                example = tf.train.Example(features=tf.train.Features(feature={
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 10])),
                }))
                writer.write(example.SerializeToString())


if not os.path.exists(PATH % 0):
    write()

FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def read(example):
    example = tf.io.parse_single_example(example, FEATURES)
    image = tf.io.decode_png(example["image"], channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.resize(image, (48, 48), antialias=True)
    return image, example["label"]


def dataset(batch_size):
    files = tf.data.Dataset.from_tensor_slices([PATH % i for i in range(SHARDS)])
    ds = files.interleave(tf.data.TFRecordDataset, cycle_length=4)
    ds = ds.map(read)
    ds = ds.shuffle(320)
    ds = ds.batch(batch_size)
    return ds


inputs = tf.keras.Input((48, 48, 3))
x = tf.keras.layers.Conv2D(12, 5, strides=3, activation="relu")(inputs)
x = tf.keras.layers.Conv2D(12, 3, strides=2, activation="relu")(x)
x = tf.keras.layers.Flatten()(x)
outputs = tf.keras.layers.Dense(10)(x)
model = tf.keras.Model(inputs, outputs)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(dataset(32), epochs=100)

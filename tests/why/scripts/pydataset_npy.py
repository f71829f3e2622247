import math
import os
import tempfile

import keras
import numpy as np

folder = tempfile.mkdtemp()
for i in range(480):
    np.savez_compressed(os.path.join(folder, f"{i}.npz"), img=np.random.rand(64, 64, 1).astype("float32"), label=i % 4)


class Slices(keras.utils.PyDataset):
    """Loads each slice from disk when it is needed."""

    def __init__(self, folder, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.files = sorted(os.listdir(folder))
        self.folder = folder
        self.batch_size = batch_size

    def __len__(self):
        return math.ceil(len(self.files) / self.batch_size)

    def __getitem__(self, idx):
        names = self.files[idx * self.batch_size:(idx + 1) * self.batch_size]
        xs, ys = [], []
        for name in names:
            with np.load(os.path.join(self.folder, name)) as f:
                img = f["img"]
                ys.append(int(f["label"]))
            img = (img - img.mean()) / img.std()
            xs.append(img)
        return np.stack(xs), np.array(ys)


train = Slices(folder, 24)

model = keras.Sequential([
    keras.layers.Input((64, 64, 1)),
    keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, epochs=100)

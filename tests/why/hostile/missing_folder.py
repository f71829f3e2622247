import tensorflow as tf

train = tf.keras.utils.image_dataset_from_directory("C:\\Users\\me\\flowers\\train", image_size=(64, 64))
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(5)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, epochs=10)

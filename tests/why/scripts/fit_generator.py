import numpy as np
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential

ratings = np.random.rand(4000, 20)
y_all = np.random.rand(4000)


def poly(row):
    out = list(row)
    for i in range(len(row)):
        for j in range(i, len(row)):
            out.append(row[i] * row[j])
    return out


def batch_generator(X, y, batch_size):
    n = len(X) // batch_size
    counter = 0
    while True:
        xb = X[batch_size * counter:batch_size * (counter + 1)]
        yb = y[batch_size * counter:batch_size * (counter + 1)]
        counter += 1
        yield np.array([poly(r) for r in xb]), yb
        if counter >= n:
            counter = 0


model = Sequential()
model.add(Input(shape=(230,)))
model.add(Dense(32, activation='relu'))
model.add(Dense(16, activation='relu'))
model.add(Dense(1))
model.compile(loss='mean_squared_error', optimizer='adam')

batch_size = 64
model.fit(batch_generator(ratings, y_all, batch_size),
          steps_per_epoch=len(ratings) // batch_size,
          epochs=40,
          verbose=1)

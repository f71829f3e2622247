import numpy as np
from tensorflow.keras import Input
from tensorflow.keras.layers import Dense, Dropout
from tensorflow.keras.models import Sequential

X = np.random.rand(768, 8)
Y = np.random.randint(0, 2, 768)
K = 60


def create_model():
    model = Sequential()
    model.add(Input((8,)))
    model.add(Dense(12, activation='relu'))
    model.add(Dropout(0.1))
    model.add(Dense(8, activation='relu'))
    model.add(Dense(1, activation='sigmoid'))
    model.compile(loss='binary_crossentropy', optimizer='adam', metrics=['accuracy'])
    return model


order = np.random.permutation(len(X))
folds = np.array_split(order, K)
scores = []
for k in range(K):
    test = folds[k]
    train = np.setdiff1d(order, test)
    model = create_model()
    model.fit(X[train], Y[train], epochs=4, batch_size=32, verbose=0)
    _, acc = model.evaluate(X[test], Y[test], verbose=0)
    scores.append(acc * 100)
    print('fold %d: %.2f%%' % (k, scores[-1]))
print('%.2f%% (+/- %.2f%%)' % (np.mean(scores), np.std(scores)))
